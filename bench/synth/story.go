package synth

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"time"
)

// story is a project while it goes on.
type story struct {
	Params
	writer
	number   int
	now      time.Time
	trunk    *Line
	topics   []*Line // open ones, all forked from trunk
	releases []*Line
	tags     []*Line
	names    int // of topics, so far
}

func newStory(p Params) *story {
	return &story{
		Params: p,
		writer: writer{Rand: rand.New(rand.NewPCG(p.Seed, 0x67616e747279))},
		now:    time.Date(2004, time.March, 1, 9, 0, 0, 0, time.UTC),
		trunk:  &Line{Kind: Trunk, Name: "trunk"},
	}
}

// An act tells what happens in one revision; without steps there was no occasion for it.
type act func(*story) (message string, steps []Step)

// acts and how often they happen, in a thousand. The proportions are those of a project of some ten years: in 20,000
// revisions more than 1,000 branches, 1,400 merges and 280 tags.
var acts = []struct {
	weight int
	act    act
}{
	{414, (*story).workOnTrunk},
	{350, (*story).workOnTopic},
	{8, (*story).workOnTwo},
	{56, (*story).openTopic},
	{38, (*story).catchUp},
	{50, (*story).reintegrate},
	{40, (*story).closeTopic},
	{22, (*story).pick},
	{6, (*story).openRelease},
	{15, (*story).tag},
	{1, (*story).workOnTag},
}

func (s *story) next() *Revision {
	s.number++
	s.now = s.now.Add(time.Duration(60+s.IntN(4*60*60)) * time.Second)
	r := &Revision{Number: s.number, Time: s.now, Author: s.author()}
	switch s.number {
	case 1:
		r.Message, r.Steps = "Begin", []Step{Fork{Line: s.trunk}}
		s.trunk.born, s.trunk.changed = s.number, s.number
	case 2:
		r.Message, r.Steps = "First import", []Step{s.commit(s.trunk, s.firstFiles())}
	default:
		r.Message, r.Steps = s.act()
	}
	return r
}

// act lets one thing happen. When there is no occasion for it, somebody works on trunk instead.
func (s *story) act() (string, []Step) {
	dice := s.IntN(1000)
	for _, a := range acts {
		if dice -= a.weight; dice < 0 {
			if message, steps := a.act(s); steps != nil {
				return message, steps
			}
			break
		}
	}
	return s.workOnTrunk()
}

// author is one of a team that grows. One revision in two hundred has lost its author.
func (s *story) author() string {
	if s.IntN(200) == 0 {
		return ""
	}
	return team[s.small(min(len(team), 4+len(team)*s.number/s.Revisions))]
}

var team = []string{
	"mkessler", "anna", "j.dupont", "tomasz", "okafor", "build", "lindqvist", "p.rossi", "yuki", "hmoreno", "svetlana",
	"dieter", "ghaddad", "o'neill", "kwame", "ines", "bram", "zoë", "rwatts", "chloe.m", "ferran", "nils", "padma", "viktor",
}

// commit makes a step of changes and remembers what they do to the line.
func (s *story) commit(l *Line, changes []Change) Commit {
	l.ahead, l.merged = true, false
	s.turn(l, changes)
	return Commit{l, changes}
}

// turn applies changes to a line.
func (s *story) turn(l *Line, changes []Change) {
	if l.changed != s.number {
		l.previous = l.tree
	}
	l.tree, l.changed = l.tree.apply(changes), s.number
}

// fork makes a new line from what another was at its newest or, now and then, its last but one revision.
func (s *story) fork(kind LineKind, name string, from *Line) (*Line, Step) {
	at, tree := s.number-1, from.tree
	if s.IntN(10) == 0 && from.changed > max(2, from.born) {
		at, tree = from.changed-1, from.previous
	}
	l := &Line{Kind: kind, Name: name, tree: tree, previous: tree, born: s.number, changed: s.number, common: tree}
	return l, Fork{l, from, at}
}

func (s *story) workOnTrunk() (string, []Step) {
	changes := s.work(s.trunk.tree)
	return s.message(changes), []Step{s.commit(s.trunk, changes)}
}

func (s *story) workOnTopic() (string, []Step) {
	topic := s.recent(s.topics)
	if topic == nil {
		return "", nil
	}
	changes := s.work(topic.tree)
	return s.message(changes), []Step{s.commit(topic, changes)}
}

// workOnTwo edits trunk and a release in one revision.
func (s *story) workOnTwo() (string, []Step) {
	release := s.recent(s.releases)
	if release == nil {
		return "", nil
	}
	here, there := s.editSome(s.trunk.tree), s.editSome(release.tree)
	return "Correct " + path.Base(here[0].Path) + " everywhere", []Step{s.commit(s.trunk, here), s.commit(release, there)}
}

func (s *story) openTopic() (string, []Step) {
	s.names++
	name := fmt.Sprintf("%s-%s-%d", s.word(), s.word(), s.names)
	if s.IntN(12) == 0 { // a name that is used again and again
		name = "hotfix-" + s.one([]string{"a", "b", "c"})
		if slices.ContainsFunc(s.topics, func(l *Line) bool { return l.Name == name }) {
			return "", nil
		}
	}
	topic, step := s.fork(Branch, name, s.trunk)
	s.topics = append(s.topics, topic)
	return "Branch for " + name, []Step{step}
}

// catchUp merges trunk into a topic.
func (s *story) catchUp() (string, []Step) {
	topic := s.recent(s.topics)
	if topic == nil {
		return "", nil
	}
	changes := merge(topic.common, topic.tree, s.trunk.tree)
	if len(changes) == 0 {
		return "", nil
	}
	s.turn(topic, changes)
	topic.common = s.trunk.tree
	return "Merge trunk into " + topic.Name, []Step{Merge{topic, s.trunk, s.number - 1, changes}}
}

// reintegrate merges a topic into trunk.
func (s *story) reintegrate() (string, []Step) {
	topic := s.recent(s.topics)
	if topic == nil || !topic.ahead {
		return "", nil
	}
	changes := merge(topic.common, s.trunk.tree, topic.tree)
	if len(changes) == 0 {
		return "", nil
	}
	s.turn(s.trunk, changes)
	topic.common, topic.ahead, topic.merged = topic.tree, false, true
	return "Merge " + topic.Name, []Step{Merge{s.trunk, topic, s.number - 1, changes}}
}

// closeTopic deletes a topic that trunk has, or, seldom, one that nobody wants any more.
func (s *story) closeTopic() (string, []Step) {
	abandon := s.IntN(12) == 0
	i := slices.IndexFunc(s.topics, func(l *Line) bool { return l.merged && !abandon || l.ahead && abandon })
	if i < 0 {
		return "", nil
	}
	topic := s.topics[i]
	s.topics = slices.Delete(s.topics, i, i+1)
	return "Remove " + topic.Name, []Step{Close{topic}}
}

// pick repeats an edit of trunk's newest revision on a release.
func (s *story) pick() (string, []Step) {
	release := s.recent(s.releases)
	if release == nil {
		return "", nil
	}
	var changes []Change
	for _, c := range merge(s.trunk.previous, release.tree, s.trunk.tree) {
		if c.Action == Edit {
			changes = append(changes, c)
		}
	}
	if len(changes) == 0 {
		return "", nil
	}
	picked := s.trunk.changed
	s.turn(release, changes)
	return fmt.Sprintf("Backport r%d\n\nWanted by the field.\n", picked), []Step{Pick{release, s.trunk, picked, changes}}
}

func (s *story) openRelease() (string, []Step) {
	release, step := s.fork(Branch, fmt.Sprintf("release-%d.%d", 1+len(s.releases)/8, len(s.releases)%8), s.trunk)
	s.releases = append(s.releases, release)
	return "Begin " + release.Name, []Step{step}
}

func (s *story) tag() (string, []Step) {
	release := s.recent(s.releases)
	if release == nil {
		return "", nil
	}
	tag, step := s.fork(Tag, fmt.Sprintf("v%s.%d", strings.TrimPrefix(release.Name, "release-"), len(s.tags)), release)
	s.tags = append(s.tags, tag)
	return "Tag " + tag.Name, []Step{step}
}

// workOnTag edits a tag, as people should not.
func (s *story) workOnTag() (string, []Step) {
	tag := s.recent(s.tags)
	if tag == nil {
		return "", nil
	}
	return "Late correction", []Step{s.commit(tag, s.editSome(tag.tree))}
}

// recent chooses one of the lines, mostly a young one; nil when there is none.
func (s *story) recent(lines []*Line) *Line {
	if len(lines) == 0 {
		return nil
	}
	return lines[len(lines)-1-s.small(min(len(lines), 12))]
}

func (s *story) message(changes []Change) string {
	name := path.Base(changes[0].Path)
	switch s.IntN(5) {
	case 0:
		return fmt.Sprintf("Fix the %s of the %s", s.word(), s.word())
	case 1:
		return fmt.Sprintf("%s: %s before %s\n\nThe %s was never right when a %s came first,\nsee #%d.\n",
			name, s.word(), s.word(), s.word(), s.word(), s.IntN(9000))
	case 2:
		return fmt.Sprintf("Größere %s für %s", s.word(), name)
	default:
		return fmt.Sprintf("%s %s: %s", s.word(), s.word(), name)
	}
}
