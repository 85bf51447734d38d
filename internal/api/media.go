package api

import (
	"net/http"
	"regexp"
	"strings"
)

// preview is the code name of operations that a caller must opt into by media type.
type preview string

const (
	stable     preview = ""
	barredRock preview = "barred-rock-preview" // source imports
)

var vendorWord = regexp.MustCompile(`^[a-z][a-z0-9]{0,31}$`)

// vendorMedia is one vendor word with the header that echoes its media type.
type vendorMedia struct {
	word   string
	prefix string // "application/vnd.<word>."
	header string
}

func newVendorMedia(vendors []string) []vendorMedia {
	media := make([]vendorMedia, len(vendors))
	for i, word := range vendors {
		media[i] = vendorMedia{word: word, prefix: "application/vnd." + word + ".", header: vendorHeader(word) + "-Media-Type"}
	}
	return media
}

// mediaType is what the Accept header asked for, as far as this API tells media types apart.
type mediaType struct {
	vendor int    // which word
	name   string // what follows the word: "v3", "barred-rock-preview"
	json   bool   // "+json" was said, or nothing at all
}

func (a *API) echo(m mediaType) string {
	text := a.media[m.vendor].word + "." + m.name
	if m.json {
		text += "; format=json"
	}
	return text
}

// negotiate reads the Accept headers and refuses a preview operation that was not asked for.
func (a *API) negotiate(c *call) error {
	c.media = mediaType{name: "v3", json: true}
	found := false
	for _, line := range c.r.Header["Accept"] {
		for part := range strings.SplitSeq(line, ",") {
			m, ok := a.parseMediaType(part)
			if !ok {
				continue
			}
			wanted := c.route.preview != stable && m.name == string(c.route.preview)
			if wanted || !found {
				c.media = m
			}
			if wanted {
				return nil
			}
			found = true
		}
	}
	if c.route.preview == stable || a.Lenient {
		return nil
	}
	return &protocolError{
		status:  http.StatusUnsupportedMediaType,
		message: "This operation is in preview. Send the header: Accept: " + a.media[0].prefix + string(c.route.preview),
	}
}

// parseMediaType understands "application/vnd.<word>.<name>", with or without "+json" and parameters.
func (a *API) parseMediaType(text string) (mediaType, bool) {
	text, _, _ = strings.Cut(text, ";")
	text = strings.ToLower(strings.TrimSpace(text))
	for i := range a.media {
		if name, ok := strings.CutPrefix(text, a.media[i].prefix); ok {
			name, isJSON := strings.CutSuffix(name, "+json")
			if name == "v3" || name == string(barredRock) {
				return mediaType{vendor: i, name: name, json: isJSON}, true
			}
		}
	}
	return mediaType{}, false
}
