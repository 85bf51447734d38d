// Package secret seals credentials at rest, makes and checks tokens, and keeps secret texts out of logs.
//
// A sealed value is: one byte of format (1), four bytes that name the key, a nonce of twelve bytes, and AES-256-GCM's output
// (NIST SP 800-38D). Its additional data is the place that the value was sealed for, so that a value moved to another row,
// column or table does not open.
package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	sealFormat = 1
	keyIDSize  = 4
	nonceSize  = 12
)

type keyID [keyIDSize]byte

// Sealer encrypts and decrypts values of the database. It is safe for concurrent use.
type Sealer struct {
	newest keyID
	byID   map[keyID]cipher.AEAD
}

// NewSealer returns a Sealer that seals with the newest of keys and opens with any of them.
func NewSealer(keys Keys) (*Sealer, error) {
	if len(keys) == 0 {
		return nil, errors.New("secret: there is no master key")
	}
	s := &Sealer{byID: make(map[keyID]cipher.AEAD, len(keys))}
	for _, k := range keys {
		block, err := aes.NewCipher(k[:])
		if err != nil {
			return nil, fmt.Errorf("secret: master key: %w", err)
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, fmt.Errorf("secret: master key: %w", err)
		}
		s.newest = k.id()
		s.byID[s.newest] = aead
	}
	return s, nil
}

// Seal encrypts plain for one column of one row.
func (s *Sealer) Seal(table, row, column string, plain []byte) ([]byte, error) {
	aead := s.byID[s.newest]
	sealed := make([]byte, 1+keyIDSize+nonceSize, 1+keyIDSize+nonceSize+len(plain)+aead.Overhead())
	sealed[0] = sealFormat
	copy(sealed[1:], s.newest[:])
	nonce := sealed[1+keyIDSize:]
	if _, err := rand.Read(nonce); err != nil {
		return nil, fmt.Errorf("secret: seal %s.%s: %w", table, column, err)
	}
	return aead.Seal(sealed, nonce, plain, place(table, row, column)), nil
}

// Open decrypts what Seal made for the same place with one of the keys.
func (s *Sealer) Open(table, row, column string, sealed []byte) ([]byte, error) {
	if len(sealed) < 1+keyIDSize+nonceSize || sealed[0] != sealFormat {
		return nil, fmt.Errorf("secret: open %s.%s of row %s: not a sealed value", table, column, row)
	}
	id := keyID(sealed[1 : 1+keyIDSize])
	aead, ok := s.byID[id]
	if !ok {
		return nil, fmt.Errorf("secret: open %s.%s of row %s: its master key %x is not configured; put it back", table, column, row, id)
	}
	nonce, text := sealed[1+keyIDSize:1+keyIDSize+nonceSize], sealed[1+keyIDSize+nonceSize:]
	plain, err := aead.Open(nil, nonce, text, place(table, row, column))
	if err != nil {
		return nil, fmt.Errorf("secret: open %s.%s of row %s: the value was changed or moved", table, column, row)
	}
	return plain, nil
}

// place encodes where a value belongs; lengths keep two places from sharing an encoding.
func place(parts ...string) []byte {
	var aad []byte
	for _, p := range parts {
		aad = binary.AppendUvarint(aad, uint64(len(p)))
		aad = append(aad, p...)
	}
	return aad
}
