package convert

import (
	"context"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/origin/svn"
)

// counted counts what comes over a connection.
type counted struct {
	net.Conn
	read *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// Reading a complete history again brings over what is new and no more, and comes to the commits of one single run.
func TestReadingAgainBringsOnlyNews(t *testing.T) {
	t.Parallel()
	repo := svnfixture.NewStandardRepo(t)
	addr := svnfixture.Serve(t, repo.Root)
	staging := t.TempDir()
	c, err := Open(t.Context(), Options{Dir: staging, Writer: "a", Journal: OpenFileJournal(filepath.Join(staging, "journal"))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	read := func() int64 {
		var n atomic.Int64
		src, err := svn.Open(t.Context(), svn.Options{
			URL: &url.URL{Scheme: "svn", Host: addr, Path: "/repo"},
			Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, addr)
				return counted{conn, &n}, err
			},
			TempDir: t.TempDir(),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		if err := c.Read(t.Context(), src); err != nil {
			t.Fatal(err)
		}
		return n.Load()
	}
	if n := read(); n < 64<<10 {
		t.Errorf("the first time brings %d bytes", n)
	}
	if n := read(); n > 1<<10 {
		t.Errorf("nothing new brings %d bytes", n)
	}
	repo.Commit(t, "erin", "One more", "mkdir", "trunk/more", "rm", "trunk/data")
	if n := read(); n > 10<<10 {
		t.Errorf("a small revision brings %d bytes", n)
	}
	again, whole := mapped(t, c, MapOptions{}), convertFrom(t, dialAddr(t, addr, ""))
	if !slices.Equal(again.commits, whole.commits) || !slices.Equal(again.result.Refs, whole.result.Refs) {
		t.Error("other commits than from a single run")
	}
}
