//go:build race

package gantrytest

const raceDetector = true
