package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
)

// smallList is how long a list may be, in bytes, to be decoded at once, which is
// quicker.
const smallList = 4 << 10

// eachItem gives the items of a JSON array one by one, each valid until the
// next, for as long as take says so. Decoding into a slice instead would let a peer
// take ten times the memory of its message: "[1,1,1,…" has an item in every
// other byte. The error says that raw is no array.
func eachItem(raw json.RawMessage, take func(one json.RawMessage) bool) error {
	if len(raw) <= smallList {
		return eachSmall(raw, take)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	first, err := d.Token()
	if err != nil {
		return err
	}
	if first != json.Delim('[') {
		return errors.New("it is no list")
	}
	var one json.RawMessage
	for d.More() {
		if err := d.Decode(&one); err != nil {
			return err
		}
		if !take(one) {
			return nil
		}
	}
	_, err = d.Token()
	return err
}

func eachSmall(raw json.RawMessage, take func(one json.RawMessage) bool) error {
	var all []json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	if all == nil {
		return errors.New("it is no list")
	}
	for _, one := range all {
		if !take(one) {
			return nil
		}
	}
	return nil
}
