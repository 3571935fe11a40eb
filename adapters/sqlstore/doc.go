// Package sqlstore keeps Dragoman's conversations, questions, leases, records,
// artifacts, audit, usage and feeds in an SQL database: today SQLite, embedded, in one
// folder that one process uses at a time.
//
// # Promises
//
//   - A write that returned nil is on the disk (Config.Sync "full": also after a
//     power cut). A write that failed left nothing behind.
//   - Every write under a lease is fenced: the conversation's row must still
//     name this process and the lease's epoch, in the same transaction.
//   - A conversation is owned exactly while it has work (the SQL of that is
//     hasWork). Whatever may take work away looks again before it commits.
//   - After a crash, Open frees what the dead process owned and counts a resume
//     for each turn it left running; Close frees it without counting.
//
// # Shape
//
// One goroutine writes (writer.go). It takes all writes that wait, runs each in
// a savepoint of one transaction, and commits once for all of them: one fsync
// serves many conversations. Reads have connections of their own and never wait
// for a writer. A write is a function over a session; the statements in it are
// the common subset of SQLite and PostgreSQL. What only SQLite knows is in
// sqlite.go and in its folder of migrations.
//
// A context that ends takes a write back out of the queue; a write that was
// begun is waited for (a commit takes milliseconds), so its outcome is known.
package sqlstore
