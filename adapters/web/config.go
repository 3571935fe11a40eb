package web

// Config is the "web" channel's section.
type Config struct {
	// Title is what the page is called.
	Title string `json:"title,omitempty" default:"Dragoman" validate:"max=80"`
}
