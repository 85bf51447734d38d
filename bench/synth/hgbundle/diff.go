package hgbundle

import (
	"bytes"
	"slices"
)

// diff returns the patch that makes b of a, both of lines.
func diff(a, b []byte) []byte {
	var patch []byte
	hunks(bytes.SplitAfter(a, newline), bytes.SplitAfter(b, newline), 0, func(start, end int, data [][]byte) {
		patch = appendHunk(patch, start, end, data...)
	})
	return patch
}

var newline = []byte("\n")

// hunks finds what differs: between the lines that are there once on either side, and that have kept their order. The
// lines a begin at start.
func hunks(a, b [][]byte, start int, yield func(start, end int, data [][]byte)) {
	for len(a) > 0 && len(b) > 0 && bytes.Equal(a[0], b[0]) {
		start += len(a[0])
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && bytes.Equal(a[len(a)-1], b[len(b)-1]) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	anchors := inOrder(once(a, b))
	if len(anchors) == 0 {
		if len(a)+len(b) > 0 {
			yield(start, start+total(a), b)
		}
		return
	}
	var i, j int
	for _, m := range append(anchors, match{len(a), len(b)}) {
		hunks(a[i:m.a], b[j:m.b], start, yield)
		start += total(a[i:m.a])
		i, j = m.a, m.b
	}
}

func total(lines [][]byte) (n int) {
	for _, line := range lines {
		n += len(line)
	}
	return n
}

// match is a line that is in both texts.
type match struct{ a, b int }

// once returns the lines that either text has once, in the order of the first.
func once(a, b [][]byte) []match {
	type place struct{ a, b, timesA, timesB int }
	places := map[string]*place{}
	for i, line := range a {
		if p := places[string(line)]; p != nil {
			p.timesA++
		} else {
			places[string(line)] = &place{a: i, timesA: 1}
		}
	}
	for j, line := range b {
		if p := places[string(line)]; p != nil {
			p.b = j
			p.timesB++
		}
	}
	var found []match
	for _, p := range places {
		if p.timesA == 1 && p.timesB == 1 {
			found = append(found, match{p.a, p.b})
		}
	}
	slices.SortFunc(found, func(x, y match) int { return x.a - y.a })
	return found
}

// inOrder returns the most matches that are in order on both sides, by patience sorting.
func inOrder(matches []match) []match {
	var tops []int // of the piles
	before := make([]int, len(matches))
	for i, m := range matches {
		pile, _ := slices.BinarySearchFunc(tops, m.b, func(top, b int) int { return matches[top].b - b })
		before[i] = -1
		if pile > 0 {
			before[i] = tops[pile-1]
		}
		if pile == len(tops) {
			tops = append(tops, i)
		} else {
			tops[pile] = i
		}
	}
	if len(tops) == 0 {
		return nil
	}
	longest := make([]match, len(tops))
	for i, at := len(tops)-1, tops[len(tops)-1]; i >= 0; i, at = i-1, before[at] {
		longest[i] = matches[at]
	}
	return longest
}
