// Package secret seals credentials at rest, makes and checks tokens, and keeps secrets out of logs.
package secret

import (
	"log/slog"

	"gantry"
)

var unimplemented = gantry.Errorf(gantry.Internal, "secret", "unimplemented")

// Keys are master keys: the newest seals, all open.
type Keys struct{}

// LoadKeys takes the master keys from the value of GANTRY_MASTER_KEY when it is not empty, else from the file at path, which it makes when it is missing.
func LoadKeys(path, env string) (Keys, error) { return Keys{}, unimplemented }

// Sealer encrypts values for one place in the database.
type Sealer struct{}

// NewSealer returns a Sealer, safe for concurrent use.
func NewSealer(keys Keys) *Sealer { return &Sealer{} }

// Seal encrypts plain for one column of one row.
func (s *Sealer) Seal(table, row, column string, plain []byte) ([]byte, error) {
	return nil, unimplemented
}

// Open decrypts what Seal made for the same place.
func (s *Sealer) Open(table, row, column string, sealed []byte) ([]byte, error) {
	return nil, unimplemented
}

// PersonalToken is the prefix of personal access tokens.
const PersonalToken = "gtp_"

// NewToken makes a token with a prefix.
func NewToken(prefix string) string { return prefix }

// CheckToken reports whether s is formed like a token and its checksum is right.
func CheckToken(s string) bool { return false }

// HashToken is the form in which a token is stored and looked up.
func HashToken(s string) [32]byte { return [32]byte{} }

// String is a secret text that shows itself only through Reveal.
type String string

// Reveal returns the secret.
func (s String) Reveal() string { return string(s) }

const redacted = "[redacted]"

func (String) String() string               { return redacted }
func (String) GoString() string             { return redacted }
func (String) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (String) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (String) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
