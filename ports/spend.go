package ports

// SpendCap is the cause of a KindForbidden error: a request to a model was not
// begun, for it could have passed what may be spent in a day.
type SpendCap struct {
	Cap          string // by its name in the config: person_daily, chat_daily, agent_daily, total_daily
	Limit, Spent Money  // Spent: today
	Held         Money  // what requests under way may still cost
	Wanted       Money  // what the request may cost, and what has to be left then
}

// Passes reports whether there may be room once the requests under way are done:
// they mostly cost less than they may.
func (e *SpendCap) Passes() bool { return e.Held > 0 && e.Wanted <= e.Limit-e.Spent }

// Error is for logs.
func (e *SpendCap) Error() string {
	return "the cap " + e.Cap + " of " + e.Limit.String() + " could be passed: " + e.Spent.String() + " are spent today, " + e.Held.String() + " may be by requests under way"
}
