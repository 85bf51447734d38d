package history

import (
	"testing"

	"pgregory.net/rapid"
)

func TestManifestName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"plain": "plain", ".hgtags": ".hgtags", ".hgignore": ".hgignore", ".hg~": ".hg~", "hg": "hg", "%": "%",
		"": "%00", "%00": "%2500", ".hg": "%2Ehg", ".HG": "%2EHG", ".hg. ": "%2Ehg. ", "hg~1": "%68g~1",
		"%2Ehg": "%252Ehg", "%252Ehg": "%25252Ehg", ".git": "%2Egit", "..": "%2E.", "a\\.git": "%61%5C.git",
	} {
		if got := ManifestName(name); got != want {
			t.Errorf("%q becomes %q instead of %q", name, got, want)
		}
	}
}

// Two entries of a directory never get the same name.
func TestManifestNamesStayApart(t *testing.T) {
	t.Parallel()
	atoms := rapid.SampledFrom([]string{"%", "2E", "25", "68", "00", ".", "h", "g", "~1", "hg", ".hg", ".git", "\\", "a", " "})
	names := map[string]string{}
	rapid.Check(t, func(t *rapid.T) {
		name := ""
		for range rapid.IntRange(0, 5).Draw(t, "atoms") {
			name += atoms.Draw(t, "atom")
		}
		became := ManifestName(name)
		if other, taken := names[became]; taken && other != name {
			t.Fatalf("%q and %q both become %q", name, other, became)
		}
		names[became] = name
	})
}
