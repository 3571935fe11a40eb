// Package spend keeps the caps on what requests to models may cost in a day: of a
// person, of a chat, of an agent and of all together.
//
// A request is reserved before it is made, with the most that it can cost, and
// settled with what it did cost.
//
// # Promises
//
//   - What was spent on a day and what is reserved never go beyond a cap together,
//     whatever runs side by side. A cap is passed only by a request that cost more
//     than the most that was reserved for it.
//   - A day is one of the calendar, in the process's time zone. A request counts
//     for the day in which it is settled; one that lives over midnight is held
//     against the new day.
//   - What the store has booked counts, from before a restart too. While it cannot
//     be read nothing is reserved. (What a crash kept from being booked is not
//     known: one request for each turn that ran.)
//   - No lock is held while the store is read.
//
// Nothing is reserved for good: who got a Hold settles it, whatever comes.
package spend
