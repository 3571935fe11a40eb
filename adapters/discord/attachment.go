package discord

import "dragoman/ports"

// attachments are the files of a message, and what else there is to see. What is
// no file has a MIME of our own and no ID.
func attachments(m message) []ports.Attachment {
	var out []ports.Attachment
	for _, f := range m.Attachments {
		if !isID(f.ID) {
			continue
		}
		out = append(out, ports.Attachment{ID: string(messageID(m.Channel, m.ID)) + "/" + f.ID, Name: f.Name, MIME: f.MIME, Size: f.Size})
	}
	for _, s := range m.Stickers {
		out = append(out, ports.Attachment{Name: s.Name, MIME: "application/vnd.discord.sticker"})
	}
	return out
}
