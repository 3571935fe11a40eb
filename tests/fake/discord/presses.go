package discord

import (
	"fmt"
	"slices"
)

// Press presses a button of a message, by its label or its custom id.
func (u *User) Press(channel, messageID, button string) (*Interaction, error) {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	ch := u.s.mustChannel(channel)
	m := ch.message(messageID)
	if m == nil || m.ephemeral != "" && m.ephemeral != u.user.ID {
		return nil, fmt.Errorf("fake discord: %s sees no message %s", u.user.Username, messageID)
	}
	for _, row := range m.Components {
		for _, b := range row.Components {
			if b.Type != compButton || b.CustomID == nil || b.Label != button && *b.CustomID != button {
				continue
			}
			if b.Disabled {
				return nil, fmt.Errorf("fake discord: the button %q is disabled", button)
			}
			in := &interaction{kind: interactionPress, user: u.user, ch: ch, pressed: m}
			u.s.interact(in, map[string]any{"custom_id": *b.CustomID, "component_type": b.Type})
			return &Interaction{u.s, in}, nil
		}
	}
	return nil, fmt.Errorf("fake discord: message %s has no button %q", messageID, button)
}

// Select chooses values in a select menu of a message, by its custom id: of a menu of
// strings those of its options, of a menu of people the ids of users.
func (u *User) Select(channel, messageID, customID string, values ...string) (*Interaction, error) {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	ch := u.s.mustChannel(channel)
	m := ch.message(messageID)
	if m == nil || m.ephemeral != "" && m.ephemeral != u.user.ID {
		return nil, fmt.Errorf("fake discord: %s sees no message %s", u.user.Username, messageID)
	}
	for _, row := range m.Components {
		for _, c := range row.Components {
			if c.CustomID == nil || *c.CustomID != customID || c.Type != compSelect && c.Type != compUsers {
				continue
			}
			if err := c.choosable(values); err != nil {
				return nil, err
			}
			data := map[string]any{"custom_id": customID, "component_type": c.Type, "values": values}
			if c.Type == compUsers {
				resolved, err := u.s.resolve(ch, values)
				if err != nil {
					return nil, err
				}
				data["resolved"] = resolved
			}
			in := &interaction{kind: interactionPress, user: u.user, ch: ch, pressed: m}
			u.s.interact(in, data)
			return &Interaction{u.s, in}, nil
		}
	}
	return nil, fmt.Errorf("fake discord: message %s has no menu %q", messageID, customID)
}

// choosable is why a client does not let people choose these values, or nil.
func (c component) choosable(values []string) error {
	least, most := 1, 1
	if c.Min != nil {
		least = *c.Min
	}
	if c.Max != nil {
		most = *c.Max
	}
	if c.Disabled || len(values) < least || len(values) > most {
		return fmt.Errorf("fake discord: the menu takes %d to %d values, if it is not disabled: %q", least, most, values)
	}
	for _, v := range values {
		if c.Type == compSelect && !slices.ContainsFunc(c.Options, func(o option) bool { return o.Value == v }) {
			return fmt.Errorf("fake discord: the menu has no option %q", v)
		}
	}
	return nil
}

// resolve is what Discord tells of users beside their ids. s.mu is held.
func (s *Server) resolve(ch *channel, ids []string) (any, error) {
	users, members := map[string]any{}, map[string]any{}
	for _, id := range ids {
		u := s.users[id]
		if u == nil {
			return nil, fmt.Errorf("fake discord: there is no user %q", id)
		}
		users[id] = u
		m := s.memberOf(u, false)
		m.CanDo = bits(everything)
		members[id] = m
	}
	if ch.guild == nil {
		return map[string]any{"users": users}, nil
	}
	return map[string]any{"users": users, "members": members}, nil
}
