package web

// Config is the "web" channel's section.
type Config struct {
	Title string `json:"title,omitempty" default:"Dragoman" validate:"max=80" doc:"What the page is called"`
}
