package hgbundle

import "strings"

// manifest is the text of a tree, and the patch that makes it of another's.
func manifest(was, now []entry) (text, patch []byte) {
	text = make([]byte, 0, 80*len(now))
	var at int // in the other's text
	for i, j := 0, 0; i < len(was) || j < len(now); {
		start, from := at, len(text)
		for i < len(was) || j < len(now) {
			if i < len(was) && j < len(now) && was[i] == now[j] {
				break
			}
			var order int // which of the two comes first, or both
			switch {
			case i == len(was):
				order = 1
			case j == len(now):
				order = -1
			default:
				order = strings.Compare(was[i].path, now[j].path)
			}
			if order <= 0 {
				at += was[i].size()
				i++
			}
			if order >= 0 {
				text = now[j].appendTo(text)
				j++
			}
		}
		if start < at || from < len(text) {
			patch = appendHunk(patch, start, at, text[from:])
		}
		for i < len(was) && j < len(now) && was[i] == now[j] {
			at += was[i].size()
			text = now[j].appendTo(text)
			i, j = i+1, j+1
		}
	}
	return text, patch
}

func (e entry) size() int {
	size := len(e.path) + 1 + 2*len(node{}) + 1
	if e.flag != 0 {
		size++
	}
	return size
}

func (e entry) appendTo(text []byte) []byte {
	text = append(append(text, e.path...), 0)
	text = e.revision.node.appendTo(text)
	if e.flag != 0 {
		text = append(text, e.flag)
	}
	return append(text, '\n')
}
