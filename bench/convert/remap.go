package main

import (
	"context"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"gantry/bench/contest"
	"gantry/bench/measure"
	"gantry/internal/convert"
	"gantry/internal/history"
	"gantry/internal/origin/svn"
)

const (
	remapName = "gantry, mapping again"
	byStaging = "what was read"
)

// remap measures what it takes to map a conversion again after one of its authors has another identity: the median of
// some times, in this process.
func remap(ctx context.Context, address, work string, revisions int) (contest.Row, error) {
	u, err := url.Parse(address)
	if err != nil {
		return contest.Row{}, err
	}
	src, err := svn.Open(ctx, svn.Options{URL: u, Dial: (&net.Dialer{}).DialContext, TempDir: work})
	if err != nil {
		return contest.Row{}, err
	}
	defer src.Close()
	dir := filepath.Join(work, "staging")
	c, err := convert.Open(ctx, convert.Options{Dir: dir, Writer: "bench", Journal: convert.OpenFileJournal(filepath.Join(work, "journal"))})
	if err != nil {
		return contest.Row{}, err
	}
	defer c.Close()
	if err := c.Read(ctx, src); err != nil {
		return contest.Row{}, err
	}
	row := contest.Row{Name: remapName, Input: byStaging, Revisions: revisions}
	if _, err := c.Map(ctx, convert.MapOptions{}); err != nil {
		return contest.Row{}, err
	}
	var times []time.Duration
	for _, author := range c.Authors()[:3] {
		begin := time.Now()
		result, err := c.Map(ctx, convert.MapOptions{
			Mapped: func(a history.Author) (history.Identity, bool) {
				return history.Identity{Name: "Somebody Else", Email: "else@example.org"}, a.RemoteID == author.RemoteID
			},
		})
		if err != nil {
			return contest.Row{}, err
		}
		times = append(times, time.Since(begin))
		row.Commits = int(result.Commits)
	}
	slices.Sort(times)
	row.Cost = measure.Cost{Wall: times[len(times)/2]}
	return row, nil
}
