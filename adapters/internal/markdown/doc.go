// Package markdown turns the Markdown that models write (CommonMark with GFM)
// into what a chat can show. All of it is pure and safe for many goroutines,
// and its time and memory are bounded for any input.
package markdown
