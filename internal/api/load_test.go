package api_test

import (
	"net/http/httptest"
	"testing"

	"gantry/internal/api"
)

// BenchmarkGetImport is what a client that watches an import costs, without the network.
func BenchmarkGetImport(b *testing.B) {
	c := world(b, func(o *api.Options) { o.Limits.Core = 1 << 30 })
	if answer := c.do("PUT", "/repos/alice/hidden/import", `{"vcs":"git","vcs_url":"http://127.0.0.1:1/x"}`, c.as("alice repo")); answer.StatusCode != 201 {
		b.Fatalf("%d %s", answer.StatusCode, answer.text)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r := httptest.NewRequest("GET", "/repos/alice/hidden/import", nil)
			r.Header.Set("Authorization", "token "+c.token["alice repo"])
			r.Header.Set("Accept", previewType)
			w := httptest.NewRecorder()
			if c.handler.ServeHTTP(w, r); w.Code != 200 {
				b.Fatalf("%d %s", w.Code, w.Body)
			}
		}
	})
}
