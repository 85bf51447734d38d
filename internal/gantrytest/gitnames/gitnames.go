// Package gitnames is the part of a judge that knows what Git can hold. It is in Python, as the judges are.
package gitnames

import _ "embed"

// Program defines the functions of gitnames.py. It is to stand before a judge.
//
//go:embed gitnames.py
var Program string
