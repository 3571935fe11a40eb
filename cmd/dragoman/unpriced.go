package main

import (
	"log/slog"
	"maps"
	"slices"

	"dragoman/config"
)

// unpriced are the models whose price is not known although there are caps on
// what may be spent: no agent may ask them then, and an agent that has no others
// starts no turn. They are warnings: the rest of the gateway works.
func unpriced(cfg *config.Config) config.Faults {
	if capsOf(cfg.Limits.Spend) == capsOf(config.Spend{}) {
		return nil
	}
	asks := map[string]bool{} // models that some agent asks
	for _, a := range cfg.Agents {
		for _, m := range a.Models {
			asks[m] = true
		}
	}
	var list config.Faults
	for _, name := range slices.Sorted(maps.Keys(asks)) {
		m := cfg.Models[name]
		port, err := models[m.Type].build(m.Section, parts{name: name, log: slog.New(slog.DiscardHandler)})
		if err != nil || factsOf(port).Price != nil {
			continue // what is wrong with it is told elsewhere
		}
		list = append(list, m.Fault("price", "is not known, and with limits.spend no agent may ask a model without one "+
			`(must be dollars per million tokens, as {"input": 1.25, "cached_input": 0.125, "output": 10})`))
	}
	return list
}
