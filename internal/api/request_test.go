package api

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"gantry"
	"gantry/internal/auth"
)

func basic(pair string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(pair)) }

// All ways of sending credentials end in the same terms; what cannot be read is wrong, never absent.
func TestCredentials(t *testing.T) {
	addr := netip.MustParseAddr("192.0.2.1") // httptest's
	tests := []struct {
		name    string
		headers []string
		query   string
		want    auth.Presented
		status  int // of the error
	}{
		{"nothing", nil, "", auth.Presented{}, 0},
		{"token", []string{"token T"}, "", auth.Presented{Token: "T"}, 0},
		{"any case", []string{"TOKEN  T "}, "", auth.Presented{Token: "T"}, 0},
		{"bearer", []string{"bearer T"}, "", auth.Presented{Token: "T"}, 0},
		{"basic", []string{basic("u:p:q")}, "", auth.Presented{Basic: true, Username: "u", Password: "p:q"}, 0},
		{"basic without password", []string{basic("T:")}, "", auth.Presented{Basic: true, Username: "T"}, 0},
		{"query", nil, "access_token=T&x=1", auth.Presented{Token: "T"}, 0},
		{"query and the same header", []string{"token T"}, "access_token=T", auth.Presented{Token: "T"}, 0},
		{"query and another header", []string{"token T"}, "access_token=U", auth.Presented{}, 400},
		{"query and basic", []string{basic("u:p")}, "access_token=T", auth.Presented{}, 400},
		{"two in the query", nil, "access_token=T&access_token=U", auth.Presented{}, 400},
		{"two headers", []string{"token T", "token T"}, "", auth.Presented{}, 400},
		{"empty token", []string{"token "}, "", auth.Presented{}, 401},
		{"empty header", []string{""}, "", auth.Presented{}, 401},
		{"empty query token", nil, "access_token=", auth.Presented{}, 401},
		{"unknown scheme", []string{"Digest x"}, "", auth.Presented{}, 401},
		{"no base64", []string{"Basic ???"}, "", auth.Presented{}, 401},
		{"empty pair", []string{basic(":")}, "", auth.Presented{}, 401},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/?"+tt.query, nil)
			r.Header["Authorization"] = tt.headers
			got, err := credentials(r)
			if tt.status != 0 {
				if err == nil || problemReply(err, "").status != tt.status {
					t.Fatalf("got %+v, %v; want an error of status %d", got, err, tt.status)
				}
				return
			}
			tt.want.Addr = addr
			if err != nil || got != tt.want {
				t.Fatalf("got %+v, %v; want %+v", got, err, tt.want)
			}
		})
	}
}

func FuzzAuthorization(f *testing.F) {
	for _, seed := range []string{"token T", "Bearer", basic("a:b"), "Basic a:b", " ", "basic \x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		var in auth.Presented
		if parseAuthorization(header, &in) && in == (auth.Presented{}) {
			t.Errorf("%q was read as credentials that are none", header)
		}
	})
}

func TestNegotiate(t *testing.T) {
	const strict, lenient = false, true
	tests := []struct {
		name    string
		lenient bool
		preview preview
		accept  []string
		echo    string // "" means that the preview is missing
	}{
		{"stable, nothing", strict, stable, nil, "vendor.v3; format=json"},
		{"stable, another word", strict, stable, []string{"application/vnd.github.v3+json"}, "github.v3; format=json"},
		{"preview, nothing", strict, barredRock, nil, ""},
		{"preview, anything", strict, barredRock, []string{"*/*"}, ""},
		{"preview, v3", strict, barredRock, []string{"application/vnd.vendor.v3+json"}, ""},
		{"preview", strict, barredRock, []string{"application/vnd.vendor.barred-rock-preview"}, "vendor.barred-rock-preview"},
		{"preview as JSON", strict, barredRock, []string{"application/vnd.github.barred-rock-preview+json"}, "github.barred-rock-preview; format=json"},
		{"preview in a list", strict, barredRock, []string{"text/html, application/vnd.vendor.v3+json;q=0.9,application/vnd.vendor.barred-rock-preview"}, "vendor.barred-rock-preview"},
		{"preview in a second header", strict, barredRock, []string{"application/json", "Application/VND.vendor.Barred-Rock-preview;q=1"}, "vendor.barred-rock-preview"},
		{"another preview", strict, barredRock, []string{"application/vnd.vendor.wyandotte-preview+json"}, ""},
		{"unknown word", strict, barredRock, []string{"application/vnd.else.barred-rock-preview"}, ""},
		{"lenient", lenient, barredRock, []string{"application/vnd.github.v3+json"}, "github.v3; format=json"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := &API{Options: Options{Lenient: tt.lenient}, media: newVendorMedia([]string{"vendor", "github"})}
			c := &call{r: httptest.NewRequest("GET", "/", nil), route: &route{preview: tt.preview}}
			c.r.Header["Accept"] = tt.accept
			err := a.negotiate(c)
			if tt.echo == "" {
				var missing *protocolError
				if !errors.As(err, &missing) || missing.status != http.StatusUnsupportedMediaType ||
					!strings.Contains(missing.message, "application/vnd.vendor.barred-rock-preview") {
					t.Fatalf("got %v; want a 415 that names the media type", err)
				}
				return
			}
			if err != nil || a.echo(c.media) != tt.echo {
				t.Fatalf("got %q, %v; want %q", a.echo(c.media), err, tt.echo)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	tests := []struct {
		name, body string
		status     int
		message    string
		field      string
	}{
		{"good", `{"name":"x","count":3,"else":[1]}`, 0, "", ""},
		{"null counts as absent", `{"name":null}`, 0, "", ""},
		{"empty", ``, 400, "Problems parsing JSON", ""},
		{"cut", `{"name":`, 400, "Problems parsing JSON", ""},
		{"two values", `{}{}`, 400, "Problems parsing JSON", ""},
		{"array", ` [1]`, 400, "Body should be a JSON object", ""},
		{"null", `null`, 400, "Body should be a JSON object", ""},
		{"wrong type", `{"count":"3"}`, 422, "Validation Failed", "count"},
		{"wrong type inside", `{"inner":{"x":1}}`, 422, "Validation Failed", "inner"},
		{"too deep", strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000), 400, "Problems parsing JSON", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var in struct {
				Name  *string `json:"name"`
				Count *int    `json:"count"`
				Inner *struct {
					X *string `json:"x"`
				} `json:"inner"`
			}
			err := decode(&call{r: httptest.NewRequest("PUT", "/", strings.NewReader(tt.body))}, "Thing", &in)
			if tt.status == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			rep := problemReply(err, "")
			body, isProblem := rep.body.(*errorBody)
			if !isProblem || rep.status != tt.status || body.Message != tt.message {
				t.Fatalf("got %d %+v; want %d %q", rep.status, body, tt.status, tt.message)
			}
			if tt.field != "" && (len(body.Errors) != 1 || body.Errors[0].Field != tt.field || body.Errors[0].Code != gantry.InvalidField) {
				t.Fatalf("the errors are %+v; want %s invalid", body.Errors, tt.field)
			}
		})
	}
}

// Whatever is sent as a body, it is read or it is the caller's fault.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"vcs":"git","n":1}`, `{"n":1e400}`, `{"VCS":null}`, `[{}]`, ` `, `{"a":{"b":"\\u0000"}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var in struct {
			VCS   *string `json:"vcs"`
			N     *int64  `json:"n"`
			Inner *struct {
				B *string `json:"b"`
			} `json:"a"`
		}
		if err := decodeObject(body, "Thing", &in); err != nil {
			if status := problemReply(err, "").status; status != 400 && status != 422 {
				t.Errorf("%q is told as %d: %v", body, status, err)
			}
		}
	})
}

func TestEntityTagMatches(t *testing.T) {
	tag := entityTag([]byte("body"))
	for header, want := range map[string]bool{
		tag: true, "W/" + tag: true, `"x", ` + tag: true, "*": true, `"x"`: false, "": false, strings.Trim(tag, `"`): false,
	} {
		if got := matches([]string{header}, tag); got != want {
			t.Errorf("If-None-Match: %s matches %v, want %v", header, got, want)
		}
	}
}
