package sshdial

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A known_hosts file vouches for a key of the host that it names, and of no other.
func TestKnownKeys(t *testing.T) {
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO5b8w7yT7m3Zk0V5iI6n9mX1pQmEwWb0a1m3wQyq1Z2"
	file := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(file, []byte("git.example.org,192.0.2.7 "+key+"\n[git.example.org]:2222 "+key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string][]string{
		"git.example.org:22":   {key},
		"git.example.org:2222": {key},
		"git.example.org:2223": nil,
		"192.0.2.7:22":         {key},
		"other.example.org:22": nil,
	} {
		got, err := KnownKeys(file, address)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %v", address, got, err, want)
		}
	}
	if got, err := KnownKeys(filepath.Join(t.TempDir(), "missing"), "git.example.org:22"); err != nil || got != nil {
		t.Errorf("without a file: %v, %v", got, err)
	}
}
