package main

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"dragoman/config"
	"dragoman/ports"
)

const (
	adminTokenFile = "admin-token"
	secretKeyFile  = "secret-key"
	secretSize     = 32 // bytes that are made
	secretMin      = 16 // characters that are believed, as in the config
)

// adminToken is the token that opens what HTTP serves to admins: the config's,
// else the one of the data folder, which is made where there is none. Only one
// process may use the folder: call it with the store open.
func adminToken(cfg *config.Config, log *slog.Logger) (ports.Secret, error) {
	return kept(cfg.Admin.Token, cfg.DataDir, adminTokenFile, "admin token", log)
}

// secretKey is the key that seals what must not be read from the store, as
// adminToken. Without it what was sealed is lost: logins have to be given again.
func secretKey(cfg *config.Config, log *slog.Logger) (ports.Secret, error) {
	return kept(cfg.SecretKey, cfg.DataDir, secretKeyFile, "secret key", log)
}

// hasSecretKey reports whether there is a key already.
func hasSecretKey(cfg *config.Config) bool {
	_, err := os.Stat(filepath.Join(cfg.DataDir, secretKeyFile))
	return err == nil || strings.TrimSpace(cfg.SecretKey.Reveal()) != ""
}

// kept is a secret of the config, else that of a file, which is made where there is none.
func kept(given config.Secret, dir, file, what string, log *slog.Logger) (ports.Secret, error) {
	if given := strings.TrimSpace(given.Reveal()); given != "" {
		return ports.Secret(given), nil
	}
	name := filepath.Join(dir, file)
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		made, err := makeSecret(dir, file)
		if err != nil {
			return "", fmt.Errorf("cannot keep a new %s: %w", what, err)
		}
		return made, nil
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the %s: %w", what, err)
	}
	secret := strings.TrimSpace(string(text))
	if len(secret) < secretMin {
		return "", fmt.Errorf("%s holds no %s: it must have at least %d characters (remove the file, and a new one is made)", name, what, secretMin)
	}
	if info, err := os.Stat(name); err == nil && info.Mode().Perm()&0o077 != 0 {
		log.Warn("secret_readable_by_others", "file", name)
	}
	return ports.Secret(secret), nil
}

// makeSecret writes a new secret. The file is there whole or not at all, also
// after a crash.
func makeSecret(dir, file string) (ports.Secret, error) {
	secret := newSecret()
	f, err := os.CreateTemp(dir, file+".*") // 0600
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name()) // gone already when all went well
	_, err = f.WriteString(secret.Reveal() + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", err
	}
	return secret, os.Rename(f.Name(), filepath.Join(dir, file))
}

func newSecret() ports.Secret {
	secret := make([]byte, secretSize)
	rand.Read(secret) // never fails
	return ports.Secret(base64.RawURLEncoding.EncodeToString(secret))
}
