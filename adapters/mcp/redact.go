package mcp

import (
	"os"
	"slices"
	"strings"

	"dragoman/ports"
)

// shortSecret is from how many bytes on a value is taken for a secret. Shorter
// ones are none, and would blank half of every line.
const shortSecret = 8

// redactor takes the secrets of c out of texts that people will read: the values
// of Env and Headers, those of variables that the child inherits by name, what
// arguments and a URL may hide, and the credentials of a login.
func (c Config) redactor() *strings.Replacer {
	secrets := append(c.urlSecrets(), argSecrets(c.Args)...)
	for _, value := range c.Env {
		secrets = append(secrets, value)
	}
	for _, name := range c.InheritEnv {
		secrets = append(secrets, ports.Secret(os.Getenv(name)))
	}
	for _, value := range c.Headers {
		secrets = append(secrets, value)
		if _, token, ok := strings.Cut(value.Reveal(), " "); ok { // "Bearer …"
			secrets = append(secrets, ports.Secret(token))
		}
	}
	if c.OAuth != nil {
		secrets = append(secrets, c.OAuth.ClientSecret, c.OAuth.PrivateKey)
	}
	var pairs []string
	for _, value := range slices.SortedFunc(slices.Values(secrets), func(a, b ports.Secret) int { return len(b) - len(a) }) {
		if len(value) >= shortSecret {
			pairs = append(pairs, value.Reveal(), value.String())
		}
	}
	return strings.NewReplacer(pairs...)
}

// argSecrets are the arguments that their flag says are secret: --api-key=VALUE,
// and --api-key VALUE.
func argSecrets(args []string) []ports.Secret {
	var secrets []ports.Secret
	for i, arg := range args {
		flag, value, joined := strings.Cut(arg, "=")
		switch {
		case !isSecretName(flag):
		case joined:
			secrets = append(secrets, ports.Secret(value))
		case strings.HasPrefix(flag, "-") && i+1 < len(args):
			secrets = append(secrets, ports.Secret(args[i+1]))
		}
	}
	return secrets
}
