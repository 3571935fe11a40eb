package sqlstore

// Config says where the data is and how safe a commit is.
type Config struct {
	// Dir is the folder of the data. It is made (0700) if it is not there.
	Dir string `json:"dir" validate:"required"`
	// Path is the database file, if it is not dragoman.db in Dir. It must be there,
	// and one process may use it at a time, by whichever name.
	Path string `json:"path"`
	// Sync "full" makes every commit survive a power cut; "normal" may lose the
	// last moments then, but never at the death of the process alone.
	Sync string `json:"sync" validate:"oneof=full normal" default:"full"`
	// Channels are those that this process works for: conversations of others are
	// not claimed and their questions not expired. None = all.
	Channels []string `json:"channels"`
}
