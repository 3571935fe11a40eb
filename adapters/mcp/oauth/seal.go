package oauth

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"dragoman/ports"
)

const (
	// minKey is the fewest characters of a secret key that are believed.
	minKey = 16
	// sealInfo separates the key of the records from others made of the same secret.
	sealInfo = "dragoman oauth records 1"
)

// errUnreadable is a record that was sealed with another key, or damaged.
var errUnreadable = errors.New("it was stored with another secret_key, or is damaged")

// vault keeps records whose bodies only the holder of the secret key can read:
// AES-256-GCM, with the record's name as associated data, so that a body cannot be
// moved to another record. Safe for many goroutines.
type vault struct {
	records ports.Records
	aead    cipher.AEAD
}

// sealed is the stored body: nonce, then ciphertext.
type sealed struct {
	Sealed []byte `json:"sealed"`
}

func newVault(records ports.Records, key ports.Secret) (*vault, error) {
	if len(key) < minKey {
		return nil, fmt.Errorf("secret_key is too short (must have at least %d characters)", minKey)
	}
	derived, err := hkdf.Key(sha256.New, []byte(key.Reveal()), nil, sealInfo, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &vault{records: records, aead: aead}, nil
}

// name is where a record is.
type name struct{ scope, kind, key string }

func (n name) bytes() []byte {
	text, _ := json.Marshal([]string{n.scope, n.kind, n.key}) // no two names give the same
	return text
}

// read gives the record's version, 0 if there is none. errUnreadable comes with
// the version, so that the record can be replaced.
func (v *vault) read(ctx context.Context, at name, into any) (version int64, err error) {
	r, err := v.records.Get(ctx, at.scope, at.kind, at.key)
	switch {
	case ports.IsKind(err, ports.KindNotFound):
		return 0, nil
	case err != nil:
		return 0, err
	}
	var body sealed
	if json.Unmarshal(r.Body, &body) != nil || len(body.Sealed) < v.aead.NonceSize() {
		return r.Version, errUnreadable
	}
	nonce, box := body.Sealed[:v.aead.NonceSize()], body.Sealed[v.aead.NonceSize():]
	plain, err := v.aead.Open(nil, nonce, box, at.bytes())
	if err != nil || json.Unmarshal(plain, into) != nil {
		return r.Version, errUnreadable
	}
	return r.Version, nil
}

// write stores value where the version is this one and gives the new version.
// Zero expires: never. KindConflict: the stored version is another.
func (v *vault) write(ctx context.Context, at name, version int64, expires time.Time, value any) (int64, error) {
	plain, err := json.Marshal(value)
	if err != nil {
		return 0, err
	}
	nonce := make([]byte, v.aead.NonceSize())
	rand.Read(nonce) // never fails
	body, err := json.Marshal(sealed{Sealed: v.aead.Seal(nonce, nonce, plain, at.bytes())})
	if err != nil {
		return 0, err
	}
	r, err := v.records.Put(ctx, ports.Record{Scope: at.scope, Kind: at.kind, Key: at.key, Version: version, Body: body, Expires: expires})
	return r.Version, err
}

func (v *vault) remove(ctx context.Context, at name, version int64) error {
	return v.records.Delete(ctx, ports.Record{Scope: at.scope, Kind: at.kind, Key: at.key, Version: version})
}
