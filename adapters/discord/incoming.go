package discord

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf16"

	"dragoman/ports"
)

// incoming turns what Discord tells into what the core understands, for one bot account.
type incoming struct {
	me      user
	rooms   *rooms
	threads bool
}

// message is a new message. ok is false for what is not for the core; why says
// then what it was.
func (in incoming) message(m message, r room) (out ports.Message, why string, ok bool) {
	if why := unwanted(m); why != "" {
		return out, why, false
	}
	text := ""
	if m.Content != nil {
		text = *m.Content
	}
	if len(m.Snapshots) > 0 {
		text, m.Attachments = forwarded(m)
	}
	out = ports.Message{
		Event: m.ID, ID: messageID(m.Channel, m.ID), Private: isPrivate(m.Guild, r),
		From: m.Author.ID, Name: nameOf(m.Author, m.Member), Text: in.readable(text, m.Mentions),
		Attachments: attachments(m), At: timeOf(m.ID),
	}
	out.More = goesOn(m, out.Text)
	if out.Text == "" && len(out.Attachments) == 0 {
		return out, "nothing that can be read", false
	}
	out.Addressed = !out.Private && in.addressed(m, r)
	out.In = in.conversation(m.Channel, r)
	if in.threads && out.Addressed && out.In.Thread == "" {
		out.In.Thread = m.ID // the thread that opens from a message has its id
	}
	in.quote(&out, m)
	return out, "", true
}

// longText is the length, in UTF-16 units, from which on a text is most likely cut
// by a person who could not send all of it at once.
const longText = maxText - 100

// goesOn reports whether the message is most likely a part of what its person sends:
// a long text, files of which nothing is said, or what is passed on, whose comment
// Discord sends as a message of its own.
func goesOn(m message, text string) bool {
	return len(utf16.Encode([]rune(text))) >= longText || len(m.Snapshots) > 0 || text == "" && len(m.Attachments) > 0
}

// unwanted is why a message is not for the core, or "".
func unwanted(m message) string {
	switch {
	case !isID(m.ID) || !isID(m.Channel):
		return "no id"
	case m.Author == nil || m.Author.ID == "":
		return "not written by anybody"
	case m.Author.Bot, m.Webhook != "":
		return "written by a bot"
	case m.Type != typeDefault && m.Type != typeReply:
		return "a notice"
	}
	return ""
}

// changed is an edit. Discord tells of one also where it adds the preview of a
// link: then nobody has edited.
func (in incoming) changed(m message, r room) (ports.Message, string, bool) {
	if m.Edited == "" || m.Content == nil {
		return ports.Message{}, "nobody edited it", false
	}
	out, why, ok := in.message(m, r)
	out.Event, out.Change, out.More = m.ID+"/"+m.Edited, ports.ChangeEdit, false
	out.At, _ = time.Parse(time.RFC3339, m.Edited) // unreadable: not known
	return out, why, ok
}

// gone is a message that was deleted. Whether it opened a thread nobody says any
// more: the store knows it by its id.
func (in incoming) gone(id, channel string, r room) ports.Message {
	return ports.Message{
		Event: id + "/deleted", ID: messageID(channel, id), In: in.conversation(channel, r),
		Private: isPrivate(r.Guild, r), Change: ports.ChangeDelete,
	}
}

func isPrivate(guild string, r room) bool {
	return guild == "" && r.Guild == "" && (r.Type == typeDM || r.ID == "")
}

// typeDM is the type of a room of one person and the bot.
const typeDM = 1

func (in incoming) conversation(channel string, r room) ports.Conversation {
	if r.isThread() && isID(r.Parent) {
		return ports.Conversation{Chat: r.Parent, Thread: channel}
	}
	return ports.Conversation{Chat: channel}
}

// addressed: by name, by a reply to us, or in a thread that we opened.
func (in incoming) addressed(m message, r room) bool {
	if r.isThread() && r.Owner == in.me.ID {
		return true
	}
	if m.Referenced != nil && m.Referenced.Author != nil && m.Referenced.Author.ID == in.me.ID {
		return true
	}
	for _, u := range m.Mentions {
		if u.ID == in.me.ID {
			return true
		}
	}
	return false
}

func (in incoming) quote(out *ports.Message, m message) {
	if m.Type != typeReply || m.Reference == nil || !isID(m.Reference.Message) {
		return
	}
	out.ReplyTo = messageID(cmp.Or(m.Reference.Channel, m.Channel), m.Reference.Message)
	q := m.Referenced
	if q == nil || q.Content == nil || q.Author == nil {
		return
	}
	out.Quote = &ports.Quote{Text: in.readable(*q.Content, q.Mentions), Name: nameOf(q.Author, q.Member), Own: q.Author.ID == in.me.ID}
}

// readable names who is mentioned, and takes our own name off the start: "@bot
// call this" is "call this".
func (in incoming) readable(text string, mentions []user) string {
	for _, us := range []string{"<@" + in.me.ID + ">", "<@!" + in.me.ID + ">"} {
		if rest, ok := strings.CutPrefix(strings.TrimLeft(text, " \n\t"), us); ok {
			text = strings.TrimLeft(rest, " ,:\n\t")
		}
	}
	for _, u := range mentions {
		name := "@" + cmp.Or(u.Global, u.Username)
		text = strings.NewReplacer("<@"+u.ID+">", name, "<@!"+u.ID+">", name).Replace(text)
	}
	return text
}

func nameOf(u *user, m *member) string {
	if m != nil && m.Nick != "" {
		return m.Nick
	}
	return cmp.Or(u.Global, u.Username)
}

// forwarded is what a person passed on.
func forwarded(m message) (string, []file) {
	var texts []string
	files := m.Attachments
	if m.Content != nil && *m.Content != "" {
		texts = append(texts, *m.Content)
	}
	for _, s := range m.Snapshots {
		if s.Message.Content != nil && *s.Message.Content != "" {
			texts = append(texts, *s.Message.Content)
		}
		files = append(files, s.Message.Attachments...)
	}
	return strings.Join(texts, "\n\n"), files
}

// command is a slash command, press a button: one of them, or why it is neither.
func (in incoming) interaction(i interaction) (out ports.Message, why string, ok bool) {
	who := i.User
	if i.Member != nil && i.Member.User != nil {
		who = i.Member.User
	}
	switch {
	case !isID(i.ID) || !isID(i.RoomID) || i.Token == "":
		return out, "no id", false
	case who == nil || who.ID == "" || who.Bot:
		return out, "not done by a person", false
	}
	r, known := in.rooms.get(i.RoomID)
	if i.Room != nil && i.Room.ID == i.RoomID && !known {
		r = *i.Room
	}
	out = ports.Message{
		Event: i.ID, In: in.conversation(i.RoomID, r), Private: i.Guild == "" && (i.Context == nil || *i.Context == typeDM),
		Addressed: true, From: who.ID, Name: nameOf(who, i.Member),
	}
	switch i.Type {
	case typePress:
		c, mine := choiceOf(i.Data.Press)
		if !mine || i.Message == nil || !isID(i.Message.ID) {
			return out, "a button that is not ours", false
		}
		out.ID, out.Choice = messageID(i.RoomID, i.Message.ID), &c
		if to := i.Message.Reference; in.threads && !out.Private && out.In.Thread == "" && to != nil && isID(to.Message) {
			out.In.Thread = to.Message // which may not be opened: what belongs there replies to it
		}
	case typeCommand:
		out.ID, out.Text, out.At = messageID(i.RoomID, i.ID), commandText(i), timeOf(i.ID)
		if acknowledges(i).Type == deferMessage {
			out.Reply = ticket{ID: i.ID, App: i.App, Token: i.Token}.raw()
		}
		if i.Data.Kind == messageMenu {
			if !isID(i.Data.Target) {
				return out, "a menu of no message", false
			}
			out.Text, out.ReplyTo = "/"+forgetCommand, messageID(i.RoomID, i.Data.Target)
			if in.threads && !out.Private && out.In.Thread == "" {
				out.In.Thread = i.Data.Target // it opened one, and is a part of what is said there
			}
		}
	default:
		return out, "an unknown kind of interaction", false
	}
	return out, "", true
}

// commandText is a command as people type it where there are no menus.
func commandText(i interaction) string {
	var args []string
	for _, o := range i.Data.Options {
		var text string
		if json.Unmarshal(o.Value, &text) != nil {
			text = string(o.Value)
		}
		args = append(args, text)
	}
	text := strings.Join(args, " ")
	if i.Data.Name == askCommand {
		return text
	}
	return strings.TrimSpace("/" + i.Data.Name + " " + text)
}
