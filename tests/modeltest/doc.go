// Package modeltest proves that a ports.ModelPort keeps its promises. An adapter
// runs it from its own tests:
//
//	func TestConformance(t *testing.T) { modeltest.Run(t, modeltest.Harness{…}) }
//
// Each rule has a name and the reason why it exists. A rule that needs the
// model's peer to behave in a certain way asks the Harness for it and is skipped,
// with the reason, where the Harness cannot do it.
//
// Smoke tries a real model instead, where the environment names one:
//
//	DRAGOMAN_SMOKE_MODEL=openai DRAGOMAN_SMOKE_NAME=gpt-5-mini DRAGOMAN_SMOKE_API_KEY=… \
//		go test -count=1 -v -run Smoke ./adapters/openai
package modeltest
