package secret

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"strings"
)

// PersonalToken is the prefix of personal access tokens.
const PersonalToken = "gtp_"

const (
	base62       = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	prefixLen    = len(PersonalToken)
	randomLen    = 30
	checksumLen  = 6 // 62^6 > 2^32
	tokenLen     = prefixLen + randomLen + checksumLen
	fairByteEnd  = 256 - 256%62 // bytes from here on would favour the first digits
	tokenKinds   = "po"         // personal, OAuth
	tokenOpening = "gt"
)

// NewToken makes a token: a prefix of four characters, 30 random base62 digits (178 bits), and the CRC-32 (IEEE) of both as 6 base62 digits.
func NewToken(prefix string) string {
	token := make([]byte, 0, tokenLen)
	token = append(token, prefix...)
	var random [64]byte
	for len(token) < tokenLen-checksumLen {
		rand.Read(random[:]) // never fails: crypto/rand ends the program instead
		for _, b := range random {
			if b < fairByteEnd && len(token) < tokenLen-checksumLen {
				token = append(token, base62[b%62])
			}
		}
	}
	return string(appendChecksum(token))
}

func appendChecksum(token []byte) []byte {
	sum := crc32.ChecksumIEEE(token)
	var digits [checksumLen]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = base62[sum%62]
		sum /= 62
	}
	return append(token, digits[:]...)
}

// CheckToken reports whether s has the form of a token and its checksum is right. It keeps mistyped and invented
// tokens from costing a look-up; it does not say that the token exists.
func CheckToken(s string) bool {
	if len(s) != tokenLen || s[:2] != tokenOpening || strings.IndexByte(tokenKinds, s[2]) < 0 || s[3] != '_' {
		return false
	}
	var want [tokenLen]byte
	body := append(want[:0], s[:tokenLen-checksumLen]...)
	return string(appendChecksum(body)) == s
}

// HashToken is the form in which a token is stored and looked up. Tokens are long and random, so a fast hash is safe.
func HashToken(s string) [32]byte { return sha256.Sum256([]byte(s)) }
