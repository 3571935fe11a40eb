package channeltest

import (
	"fmt"
	"time"

	"dragoman/ports"
)

// longestPace is beyond what anybody would call a preview.
const longestPace = time.Minute

func traitsFixed(s *scene) error {
	a, b := s.ch.Traits(), s.ch.Traits()
	switch {
	case a != b:
		return fmt.Errorf("Traits are %+v and then %+v", a, b)
	case a.MaxText < 0:
		return fmt.Errorf("MaxText is %d", a.MaxText)
	case a.EditEvery < 0 || a.EditEvery > longestPace:
		return fmt.Errorf("EditEvery is %v", a.EditEvery)
	case a.GroupEditEvery < 0 || a.GroupEditEvery > longestPace:
		return fmt.Errorf("GroupEditEvery is %v", a.GroupEditEvery)
	}
	return nil
}

// traitsAgree holds the traits to one another and to the abilities. Whether
// buttons that are claimed come back is for the rules of choices.
func traitsAgree(s *scene) error {
	t := s.ch.Traits()
	_, edits := s.ch.(ports.Editor)
	switch {
	case t.EditEvery > 0 && !edits:
		return fmt.Errorf("EditEvery is %v, and the channel is no Editor", t.EditEvery)
	case t.GroupEditEvery > 0 && t.EditEvery == 0:
		return fmt.Errorf("GroupEditEvery is %v without an EditEvery", t.GroupEditEvery)
	case t.GroupEditEvery > 0 && t.GroupEditEvery < t.EditEvery:
		return fmt.Errorf("GroupEditEvery, %v, is below EditEvery, %v: a group has more readers, and never less of a limit", t.GroupEditEvery, t.EditEvery)
	}
	return nil
}
