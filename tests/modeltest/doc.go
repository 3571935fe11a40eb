// Package modeltest proves that a ports.ModelPort keeps its promises. An adapter
// runs it from its own tests:
//
//	func TestConformance(t *testing.T) { modeltest.Run(t, modeltest.Harness{…}) }
//
// Each rule has a name and the reason why it exists. A rule that needs the
// model's peer to behave in a certain way asks the Harness for it and is skipped,
// with the reason, where the Harness cannot do it.
package modeltest
