package access

import "fmt"

const textGroup = "I only talk to people my admin has let in. Write to me in a private chat to ask for access."

// textCodeUsed stands before the refusal of somebody who brought a code.
const textCodeUsed = "This code is not good: it was used already, or it is from an earlier start.\n\n"

func textPairing(code string) string {
	shown := code[:codeLength/2] + "-" + code[codeLength/2:]
	return fmt.Sprintf("Hello! I only talk to people my admin has let in.\n\nYour code is **%s**. Give it to the admin, who lets you in with\n\n```\ndragoman pair approve %s\n```\n\nThe code is good for one hour. Until then I will not answer.", shown, shown)
}

func textListed(identity string) string {
	return fmt.Sprintf("I only talk to people on my admin's list. You are `%s`: ask the admin to add you.", identity)
}

func textRate(r Rules) string {
	return fmt.Sprintf("That is too fast for me: I take %d messages in %s. I have not read some of your last ones; please send them again in a while.", r.Count, r.Per)
}
