package openai

import (
	"bytes"
	"sync"
	"testing"

	"dragoman/adapters/internal/toolschema"
)

func TestManyAskForToolsAtOnce(t *testing.T) {
	m := testModel(t, "http://model.test/v1")
	r := longRequest(1, 40)
	want, err := m.body(r)
	if err != nil {
		t.Fatal(err)
	}
	m.tools = toolschema.NewTools(toolschema.ForOpenAI, toolschema.Chat)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				if got, err := m.body(r); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d bytes, not %d; %v", len(got), len(want), err)
				}
			}
		})
	}
	all.Wait()
}
