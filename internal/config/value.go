package config

import (
	"encoding"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes, written plainly or with KiB, MiB or GiB.
type Size int64

var sizeUnits = []struct {
	suffix string
	bytes  int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// UnmarshalText reads a size such as 1048576 or 1MiB.
func (s *Size) UnmarshalText(text []byte) error {
	number, unit := string(text), int64(1)
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return fmt.Errorf("%q is not a size: use bytes, or a number with KiB, MiB or GiB", text)
	}
	*s = Size(n * unit)
	return nil
}

// MarshalText writes a size with the largest unit that divides it.
func (s Size) MarshalText() ([]byte, error) {
	for _, u := range sizeUnits {
		if n := int64(s); n != 0 && n%u.bytes == 0 {
			return fmt.Appendf(nil, "%d%s", n/u.bytes, u.suffix), nil
		}
	}
	return strconv.AppendInt(nil, int64(s), 10), nil
}

// Kinds of settings, as the help of a flag shows them.
const (
	kindText     = "text"
	kindBool     = "bool"
	kindNumber   = "number"
	kindDuration = "duration"
	kindList     = "list"
)

func (k Key) kind() string {
	switch k.field(new(Config)).(type) {
	case *bool:
		return kindBool
	case *int, *Size:
		return kindNumber
	case *time.Duration:
		return kindDuration
	case *[]string:
		return kindList
	}
	return kindText
}

// set gives a setting its value: text from a flag or the environment, or a typed value from a file.
func (k Key) set(c *Config, value any) error {
	switch v := value.(type) {
	case string:
		return k.setText(c, v)
	case bool:
		if k.kind() == kindBool {
			return k.setText(c, strconv.FormatBool(v))
		}
	case int64:
		if k.kind() == kindNumber {
			return k.setText(c, strconv.FormatInt(v, 10))
		}
	case []any:
		if k.kind() == kindList {
			return k.setList(c, v)
		}
	}
	return fmt.Errorf("%v is of the wrong type: a %s is expected", value, k.kind())
}

func (k Key) setList(c *Config, values []any) error {
	list := []string{}
	for _, v := range values {
		word, ok := v.(string)
		if !ok {
			return fmt.Errorf("%v is of the wrong type: a list of texts is expected", v)
		}
		list = append(list, word)
	}
	*k.field(c).(*[]string) = list
	return nil
}

func (k Key) setText(c *Config, text string) (err error) {
	switch p := k.field(c).(type) {
	case *string:
		*p = text
	case *bool:
		if *p, err = strconv.ParseBool(text); err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
	case *int:
		if *p, err = strconv.Atoi(text); err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
	case *time.Duration:
		*p, err = parseDuration(text)
	case *[]string:
		*p = []string{}
		for word := range strings.SplitSeq(text, ",") {
			if word = strings.TrimSpace(word); word != "" {
				*p = append(*p, word)
			}
		}
	case encoding.TextUnmarshaler:
		err = p.UnmarshalText([]byte(text))
	default:
		panic(fmt.Sprintf("config: no way to set a %T", p))
	}
	return err
}

// text is what setText would read.
func (k Key) text(c *Config) string {
	switch p := k.field(c).(type) {
	case *string:
		return *p
	case *[]string:
		return strings.Join(*p, ",")
	case *bool:
		return strconv.FormatBool(*p)
	case *int:
		return strconv.Itoa(*p)
	case *time.Duration:
		return formatDuration(*p)
	case encoding.TextMarshaler:
		text, _ := p.MarshalText() // neither a Size nor a slog.Level can fail
		return string(text)
	default:
		panic(fmt.Sprintf("config: no text of a %T", p))
	}
}

const day = 24 * time.Hour

// parseDuration reads Go's durations, and whole days as "30d".
func parseDuration(text string) (time.Duration, error) {
	if number, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(number); err == nil && n >= 0 && n < 100_000 {
			return time.Duration(n) * day, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a duration: use a form such as 45s, 10m, 12h or 30d", text)
	}
	return d, nil
}

func formatDuration(d time.Duration) string {
	if d > 0 && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	return d.String()
}
