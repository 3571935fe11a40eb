// Package channeltest is the conformance kit of ports.ChannelPort. A new chat
// platform is right when Run passes against it:
//
//	func TestConformance(t *testing.T) {
//		channeltest.Run(t, channeltest.Harness{
//			Start: func(ctx context.Context) (channeltest.Platform, error) { return newPlatform(ctx) },
//		})
//	}
//
// The harness owns a stand-in of the platform (a fake server, a feed in memory)
// and can act on it as people do: say something, press a button, read a chat,
// break the line. The kit acts through it and watches what the channel does.
//
// Each rule has a name and the reason it exists. A rule's Check returns an
// error instead of failing a test, so that the rules themselves can be tested:
// a channel that breaks one on purpose must be caught by that one. Abilities
// (ports.Editor, ports.Typer, …) and optional powers of the platform are
// checked where they are there; otherwise the rule reports ErrNotApplicable.
package channeltest
