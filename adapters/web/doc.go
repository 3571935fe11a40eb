// Package web is the built-in web chat: a ChannelPort whose platform is our own
// page. What a chat shows is kept in the store's Feed, and every browser stream
// is a tail of it, so a page may be served by any node, and a reload, a second
// tab or a lost connection misses nothing.
//
// A person is a session: a random token in a cookie, whose SHA-256 is the key of
// a record. A session alone opens nothing: the core decides who may talk, and a
// login link merely says "/start CODE" in the chat. Each person has one
// conversation, named as the person is. What the core does not let in is not
// kept, and nobody may post without limit, so strangers cannot fill the disk.
//
// A file of a conversation is a link, below what is said of it, that is good for the
// person of the conversation alone; pictures show.
//
// Doubles are dropped on both ways: a message's event is made from the id that
// the page gave it, and a delivery's nonce is the nonce of its feed item, so
// that it shows once however often it is sent.
package web
