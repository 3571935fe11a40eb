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
	adminTokenSize = 32 // bytes that are made
	adminTokenMin  = 16 // characters that are believed, as in the config
)

// adminToken is the token that opens what HTTP serves to admins: the config's,
// else the one of the data folder, which is made where there is none. Only one
// process may use the folder: call it with the store open.
func adminToken(cfg *config.Config, log *slog.Logger) (ports.Secret, error) {
	if given := strings.TrimSpace(cfg.Admin.Token.Reveal()); given != "" {
		return ports.Secret(given), nil
	}
	name := filepath.Join(cfg.DataDir, adminTokenFile)
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return makeAdminToken(cfg.DataDir, name)
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the admin token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < adminTokenMin {
		return "", fmt.Errorf("%s holds no admin token: it must have at least %d characters (remove the file, and a new one is made)", name, adminTokenMin)
	}
	if info, err := os.Stat(name); err == nil && info.Mode().Perm()&0o077 != 0 {
		log.Warn("admin_token_readable_by_others", "file", name)
	}
	return ports.Secret(token), nil
}

// makeAdminToken writes a new token. The file is there whole or not at all, also
// after a crash.
func makeAdminToken(dir, name string) (token ports.Secret, err error) {
	secret := make([]byte, adminTokenSize)
	rand.Read(secret) // never fails
	token = ports.Secret(base64.RawURLEncoding.EncodeToString(secret))
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot keep a new admin token: %w", err)
		}
	}()
	f, err := os.CreateTemp(dir, adminTokenFile+".*") // 0600
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name()) // gone already when all went well
	_, err = f.WriteString(token.Reveal() + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", err
	}
	return token, os.Rename(f.Name(), name)
}
