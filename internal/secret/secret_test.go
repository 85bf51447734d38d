package secret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func sealer(t *testing.T, keys ...Key) *Sealer {
	t.Helper()
	s, err := NewSealer(keys)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A sealed value opens in its place and nowhere else, and not after any change.
func TestSealBindsToPlace(t *testing.T) {
	t.Parallel()
	s := sealer(t, Key{1})
	sealed, err := s.Seal("imports", "7", "password", []byte("hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed, []byte("hunter2")) {
		t.Error("the sealed value shows the plain one")
	}
	if plain, err := s.Open("imports", "7", "password", sealed); err != nil || string(plain) != "hunter2" {
		t.Fatalf("Open = %q, %v", plain, err)
	}
	for name, place := range map[string][3]string{
		"other row":     {"imports", "8", "password"},
		"other column":  {"imports", "7", "username"},
		"other table":   {"exports", "7", "password"},
		"shifted parts": {"imports7", "", "password"},
	} {
		if _, err := s.Open(place[0], place[1], place[2], sealed); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 0x40
		if _, err := s.Open("imports", "7", "password", changed); err == nil {
			t.Errorf("byte %d changed: opened", i)
		}
	}
	for n := range sealed {
		if _, err := s.Open("imports", "7", "password", sealed[:n]); err == nil {
			t.Errorf("cut to %d bytes: opened", n)
		}
	}
}

// After a rotation old values still open, and new ones need the new key.
func TestRotation(t *testing.T) {
	t.Parallel()
	before, after := sealer(t, Key{1}), sealer(t, Key{1}, Key{2})
	old, _ := before.Seal("t", "1", "c", []byte("old"))
	if plain, err := after.Open("t", "1", "c", old); err != nil || string(plain) != "old" {
		t.Errorf("old value after rotation: %q, %v", plain, err)
	}
	fresh, _ := after.Seal("t", "1", "c", []byte("new"))
	if _, err := before.Open("t", "1", "c", fresh); err == nil || !strings.Contains(err.Error(), "not configured") {
		t.Errorf("new value without the new key: %v", err)
	}
}

func TestLoadKeys(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "master.key")
	var all [8]Keys
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { all[i], _ = LoadKeys(path, "") })
	}
	wg.Wait()
	for _, keys := range all {
		if len(keys) != 1 || keys[0] != all[0][0] {
			t.Fatal("processes that start at once have different master keys")
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".master-key-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key file: %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKeys(path, ""); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("key file that others can read: %v", err)
	}
	text := strings.Repeat("ab", 32)
	if keys, err := LoadKeys(path, text+","+strings.Repeat("cd", 32)); err != nil || len(keys) != 2 || keys[1][0] != 0xcd {
		t.Errorf("from the environment: %v, %v", keys, err)
	}
	for _, bad := range []string{"short", text[:62], text + "ab", strings.Repeat("xy", 32), " , "} {
		if _, err := LoadKeys(path, bad); err == nil || strings.Contains(err.Error(), "xy") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// The checksum is CRC-32 over prefix and random part, in the alphabet 0-9A-Za-z. Scanners of other people rely on this vector.
func TestTokenVector(t *testing.T) {
	t.Parallel()
	const token = "gtp_0123456789ABCDEFGHIJabcdefghij"
	if got := string(appendChecksum([]byte(token))); got != token+"3XomiI" {
		t.Errorf("token with checksum = %s", got)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		token := NewToken(PersonalToken)
		if !CheckToken(token) {
			t.Fatalf("%s: a new token does not check", token)
		}
		at := rapid.IntRange(0, len(token)-1).Draw(t, "at")
		other := rapid.SampledFrom([]byte(base62)).Draw(t, "other")
		if changed := token[:at] + string(other) + token[at+1:]; changed != token && CheckToken(changed) && at != 2 {
			t.Fatalf("%s: a mistyped token checks", changed)
		}
	})
	for _, bad := range []string{"", "gtp_", strings.Repeat("a", 40), NewToken("gtx_"), NewToken("xtp_")} {
		if CheckToken(bad) {
			t.Errorf("%q checks", bad)
		}
	}
}

func FuzzCheckToken(f *testing.F) {
	f.Add(NewToken(PersonalToken))
	f.Add("gtp_")
	f.Fuzz(func(t *testing.T, s string) {
		if CheckToken(s) && len(s) != tokenLen {
			t.Errorf("%q checks", s)
		}
	})
}

func TestStringIsRedacted(t *testing.T) {
	t.Parallel()
	s := String("hunter2")
	var out bytes.Buffer
	fmt.Fprintf(&out, "%v %+v %#v %s %q %x %v", s, s, s, s, s, s, struct{ P String }{s})
	slog.New(slog.NewJSONHandler(&out, nil)).Info("login", "password", s, "in", map[string]any{"p": s})
	slog.New(slog.NewTextHandler(&out, nil)).Info("login", "password", s)
	encoded, err := json.Marshal(map[string]any{"a": s, "b": &s, "c": []String{s}})
	if err != nil {
		t.Fatal(err)
	}
	out.Write(encoded)
	if strings.Contains(out.String(), "hunter2") || strings.Contains(out.String(), fmt.Sprintf("%x", "hunter2")) {
		t.Errorf("the secret shows in %s", out.String())
	}
	if s.Reveal() != "hunter2" {
		t.Error("Reveal does not give the secret")
	}
}
