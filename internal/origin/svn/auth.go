package svn

import (
	"crypto/hmac"
	"crypto/md5" // CRAM-MD5 is made of it
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"gantry/internal/origin"
)

const maxMechanisms = 64

// authenticate answers the server's request to log in, which precedes the answer to every command and mostly asks for
// nothing.
func (s *Session) authenticate() error {
	var offered []string
	err := s.response(func() error {
		return s.wire.each(func() error {
			mechanism, err := s.wire.word()
			if err == nil && len(offered) == maxMechanisms {
				err = malformed("it offers ways to log in without end")
			}
			offered = append(offered, string(mechanism))
			return err
		})
	})
	if err != nil || len(offered) == 0 {
		return err
	}
	// Credentials go before anonymity: a server may hide from everybody what it shows to this user, without a word.
	creds := s.opt.Credentials
	if s.tunnel != nil && slices.Contains(offered, "EXTERNAL") {
		return s.logIn("EXTERNAL")
	}
	for _, mechanism := range []string{"CRAM-MD5", "PLAIN", "ANONYMOUS"} {
		if slices.Contains(offered, mechanism) && (mechanism == "ANONYMOUS" || !creds.Empty()) {
			return s.logIn(mechanism)
		}
	}
	if creds.Empty() {
		return &failure{final: true, meaning: origin.AuthError(creds), message: "the server lets nobody in without a user name and a password"}
	}
	return &failure{final: true, meaning: origin.AuthError(creds), message: fmt.Sprintf(
		"the server offers %s to log in, and Gantry knows CRAM-MD5, PLAIN and ANONYMOUS", strings.Join(offered, ", "))}
}

// logIn goes through one mechanism. CRAM-MD5 is RFC 2195, without the base64 of other protocols; PLAIN is RFC 4616.
func (s *Session) logIn(mechanism string) error {
	creds := s.opt.Credentials
	token := map[string]string{
		"ANONYMOUS": str(""),
		"EXTERNAL":  str(""), // who the tunnel is for
		"PLAIN":     str(base64.StdEncoding.EncodeToString([]byte("\x00" + creds.Username + "\x00" + creds.Password))),
	}[mechanism]
	if err := s.wire.send("( %s ( %s ) )", mechanism, token); err != nil {
		return err
	}
	challenged := false
	for {
		word, argument, err := s.authAnswer()
		switch {
		case err != nil:
			return err
		case word == "success":
			return nil
		case word == "failure":
			return &failure{final: true, meaning: origin.AuthError(s.opt.Credentials), message: "the server says: " + strings.ToValidUTF8(argument, "?")}
		case word != "step" || mechanism != "CRAM-MD5" || challenged:
			return malformedf("%q came while logging in by %s", word, mechanism)
		}
		challenged = true
		mac := hmac.New(md5.New, []byte(creds.Password))
		mac.Write([]byte(argument))
		if err := s.wire.send("%s", str(fmt.Sprintf("%s %x", creds.Username, mac.Sum(nil)))); err != nil {
			return err
		}
	}
}

// authAnswer reads a challenge or a verdict with its optional argument.
func (s *Session) authAnswer() (word, argument string, err error) {
	if err := s.wire.open(); err != nil {
		return "", "", err
	}
	b, err := s.wire.word()
	if err != nil {
		return "", "", err
	}
	word = string(b)
	err = s.wire.optional(func() error {
		b, err := s.wire.short(maxText)
		argument = string(b)
		return err
	})
	if err != nil {
		return "", "", err
	}
	return word, argument, s.wire.close()
}
