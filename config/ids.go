package config

// platformID is the id that a platform gave a chat or a person.
type platformID struct {
	channel, id string
	fault       Fault // where it stands
}

// noteID notes where such an id stands. Which form it has only the program knows.
func (c *checker) noteID(key, channel, id string) {
	if at := c.places[rootRule+"."+key]; at.node != nil {
		c.cfg.ids = append(c.cfg.ids, platformID{channel, id, c.doc.fault(at.node.key, at.path, "")})
	}
}

// WrongIDs is a fault at each id of a chat or a person on a channel that is not
// right, nil if there is none.
func (c *Config) WrongIDs(channel string, right func(id string) bool, text string) error {
	var faults Faults
	for _, p := range c.ids {
		if p.channel == channel && !right(p.id) {
			p.fault.Text = text
			faults = append(faults, p.fault)
		}
	}
	return faults.err()
}
