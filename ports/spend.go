package ports

// SpendCap is the cause of a KindForbidden error: a request to a model was not
// begun, for it could have passed what may be spent in a day.
type SpendCap struct {
	Cap          string // by its name in the config: person_daily, chat_daily, agent_daily, total_daily
	Limit, Spent Money  // Spent: today, without what requests under way may cost
}

// Error is for logs.
func (e *SpendCap) Error() string {
	return "the cap " + e.Cap + " of " + e.Limit.String() + " could be passed: " + e.Spent.String() + " are spent today"
}
