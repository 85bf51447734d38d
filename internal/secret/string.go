package secret

import "log/slog"

const redacted = "[redacted]"

// String is a secret text. However it is printed, logged or encoded it shows as "[redacted]"; only Reveal gives it away.
type String string

// Reveal returns the secret.
func (s String) Reveal() string { return string(s) }

func (String) String() string               { return redacted }
func (String) GoString() string             { return redacted }
func (String) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (String) MarshalText() ([]byte, error) { return []byte(redacted), nil }
func (String) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
