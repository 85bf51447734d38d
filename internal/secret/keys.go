package secret

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Key is a master key.
type Key [32]byte

// id names a key in what it sealed, without telling anything about it.
func (k Key) id() keyID {
	sum := sha256.Sum256(k[:])
	return keyID(sum[:keyIDSize])
}

// Keys are master keys, oldest first. To rotate, add a new one at the end.
type Keys []Key

// ParseKeys reads keys of 64 hexadecimal digits, separated by white space or commas.
func ParseKeys(text string) (Keys, error) {
	var keys Keys
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' || r == '\r' }) {
		var k Key
		// The word itself is a secret, so the error tells only which one it is.
		if n, err := hex.Decode(k[:], []byte(word[:min(len(word), 2*len(k))])); err != nil || n != len(k) || len(word) != 2*len(k) {
			return nil, fmt.Errorf("secret: master key %d is not 64 hexadecimal digits", len(keys)+1)
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, errors.New("secret: there is no master key")
	}
	return keys, nil
}

// LoadKeys parses the keys in env, the value of GANTRY_MASTER_KEY, unless it is empty. Else it reads them from the file at
// path, which it first makes with a random key when it is missing.
func LoadKeys(path, env string) (Keys, error) {
	if env != "" {
		keys, err := ParseKeys(env)
		if err != nil {
			return nil, fmt.Errorf("GANTRY_MASTER_KEY: %w", err)
		}
		return keys, nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeKeyFile(path); err != nil {
			return nil, fmt.Errorf("secret: make a master key: %w", err)
		}
		info, err = os.Stat(path)
	}
	if err != nil {
		return nil, fmt.Errorf("secret: master key: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return nil, fmt.Errorf("secret: %s can be read by others (mode %o); run chmod 600 on it", path, mode)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("secret: master key: %w", err)
	}
	keys, err := ParseKeys(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return keys, nil
}

// makeKeyFile makes the file complete or not at all. Of several processes that start at once one wins, and all read its key.
func makeKeyFile(path string) (err error) {
	var k Key
	if _, err := rand.Read(k[:]); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".master-key-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(tmp.Name())) }()
	_, err = tmp.WriteString(hex.EncodeToString(k[:]) + "\n")
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
