package demo

// Config is an entry of "models" with type "demo". There is nothing to set.
type Config struct{}
