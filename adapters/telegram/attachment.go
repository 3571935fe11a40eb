package telegram

import (
	"encoding/json"

	"dragoman/ports"
)

// attachments lists what came with a message besides text. MIME says what it
// is; what is no file has a MIME of our own and no ID.
func attachments(m *message) []ports.Attachment {
	var out []ports.Attachment
	if n := len(m.Photo); n > 0 {
		out = append(out, m.Photo[n-1].attachment("image/jpeg")) // the largest comes last
	}
	document := m.Document
	if m.Animation != nil {
		// It is repeated as a document, for bots older than animations.
		out, document = append(out, m.Animation.attachment("video/mp4")), nil
	}
	for _, f := range []struct {
		file *file
		mime string
	}{
		{document, "application/octet-stream"},
		{m.Audio, "audio/mpeg"},
		{m.Voice, "audio/ogg"},
		{m.Video, "video/mp4"},
		{m.VideoNote, "video/mp4"},
		{m.Sticker, "image/webp"},
	} {
		if f.file != nil {
			out = append(out, f.file.attachment(f.mime))
		}
	}
	for _, x := range []struct {
		there json.RawMessage
		kind  string
	}{
		{m.Contact, "contact"}, {m.Venue, "venue"}, {m.Location, "location"}, {m.Poll, "poll"},
		{m.Checklist, "checklist"}, {m.Dice, "dice"}, {m.Story, "story"}, {m.PaidMedia, "paid-media"},
	} {
		if len(x.there) > 0 && string(x.there) != "null" {
			out = append(out, ports.Attachment{Name: x.kind, MIME: "application/vnd.telegram." + x.kind})
		}
	}
	return out
}

func (f *file) attachment(mime string) ports.Attachment {
	if f.MIME != "" {
		mime = f.MIME
	}
	return ports.Attachment{ID: f.ID, Name: f.Name, MIME: mime, Size: f.Size}
}
