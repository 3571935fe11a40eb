// Package markdown turns the Markdown that models write (CommonMark with GFM)
// into what a chat can show. All of it is pure and safe for many goroutines,
// and its time and memory are bounded for any input.
//
// [HTML] makes a fragment for a page. Platforms that have their own markup and
// limits take the way over the tree: [Parse] makes blocks, [Split] cuts them
// into pieces that fit a message, and the adapter writes each piece in the
// platform's form.
package markdown
