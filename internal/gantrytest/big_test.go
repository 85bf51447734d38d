package gantrytest_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"gantry/bench/measure"
	"gantry/internal/gantrytest"
	"gantry/internal/gantrytest/svnbig"
	"gantry/internal/gantrytest/svnfixture"
	"gantry/internal/gantrytest/svnjudge"
)

// What a big history may cost.
const (
	mostMemory = 300 << 20
	mostCPU    = time.Minute
	judged     = 400 // commits whose trees libsvn makes again
)

// Histories with very much of one thing convert to what libsvn says, the same from a dump and a server, within seconds and
// a bound of memory. They are small ones without GANTRY_BIG.
func TestBigHistories(t *testing.T) {
	t.Parallel()
	for _, shape := range svnbig.Shapes {
		t.Run(shape.Name, func(t *testing.T) {
			if os.Getenv("GANTRY_BIG") != "" {
				convertBig(t, shape)
				return
			}
			t.Parallel()
			convertSmall(t, shape)
		})
	}
}

func convertSmall(t *testing.T, shape svnbig.Shape) {
	dump := writeShape(t, shape, shape.Small)
	repo := loadShape(t, dump)
	want := convertShape(t, dump)
	if _, err := svnjudge.Open(t, repo.Dir).Check(t.Context(), want.mapFile, want.dir); err != nil {
		t.Error(err)
	}
	want.same(t, convertShape(t, "svn://"+svnfixture.Serve(t, repo.Root)+"/repo"))
	if shape.Rules != nil {
		want.sameCommits(t, convertShape(t, dump, "--layout", writeFile(t, shape.Rules(shape.Small))))
	}
}

func convertBig(t *testing.T, shape svnbig.Shape) {
	dump := writeShape(t, shape, shape.Big)
	whole := convertShape(t, dump)
	whole.affordable(t, "dump")
	if shape.Rules != nil {
		ruled := convertShape(t, dump, "--layout", writeFile(t, shape.Rules(shape.Big)))
		ruled.affordable(t, "dump, with a layout")
		whole.sameCommits(t, ruled)
	}
	if shape.Short != 0 {
		dump = writeShape(t, shape, shape.Short)
		short := convertShape(t, dump)
		if most := 2 * short.cost.CPU * time.Duration(shape.Big) / time.Duration(shape.Short); whole.cost.CPU > most {
			t.Errorf("%d take %v, and %d take %v", shape.Big, whole.cost.CPU, shape.Short, short.cost.CPU)
		}
		whole = short
	}
	repo := loadShape(t, dump)
	if _, err := svnjudge.Open(t, repo.Dir).CheckTrees(t.Context(), whole.mapFile, whole.dir, judged); err != nil {
		t.Error(err)
	}
	served := convertShape(t, "svn://"+svnfixture.Serve(t, repo.Root)+"/repo")
	served.affordable(t, "svn")
	whole.same(t, served)
	git(t, whole.dir, "clone", "--quiet", "--bare", "--no-local", ".", filepath.Join(t.TempDir(), "clone.git"))
}

// writeShape writes a history as a dump.
func writeShape(t *testing.T, shape svnbig.Shape, n int) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "dump"))
	must(t, err)
	defer file.Close()
	w := bufio.NewWriter(file)
	shape.Write(svnfixture.WriteHistory(w, "0b7c1ce6-0000-4000-8000-000000000003"), n)
	must(t, w.Flush())
	return file.Name()
}

func loadShape(t *testing.T, dump string) *svnfixture.Repo {
	t.Helper()
	file, err := os.Open(dump)
	must(t, err)
	defer file.Close()
	repo := svnfixture.NewRepo(t)
	repo.LoadFrom(t, file)
	return repo
}

// convertedShape is what gantry convert made.
type convertedShape struct {
	dir, mapFile string
	cost         measure.Cost
}

// convertShape runs the command and lets git check what it made.
func convertShape(t *testing.T, origin string, flags ...string) convertedShape {
	t.Helper()
	made := t.TempDir()
	c := convertedShape{dir: filepath.Join(made, "result.git"), mapFile: filepath.Join(made, "map")}
	cmd := exec.CommandContext(t.Context(), gantrytest.Build(t), append([]string{"convert", "--map", c.mapFile, origin, c.dir}, flags...)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	var err error
	if c.cost, err = measure.Run(cmd); err != nil {
		t.Fatalf("%v\n%s", err, said.Bytes())
	}
	if out := git(t, c.dir, "fsck", "--strict", "--no-dangling"); out != "" {
		t.Errorf("git fsck: %s", out)
	}
	return c
}

func (c convertedShape) affordable(t *testing.T, from string) {
	t.Helper()
	t.Logf("%s: %.1f s, %.1f s of CPU, %d MB", from, c.cost.Wall.Seconds(), c.cost.CPU.Seconds(), c.cost.Peak>>20)
	if c.cost.CPU > mostCPU || c.cost.Peak > mostMemory {
		t.Errorf("%s: that is too much", from)
	}
}

// same reports conversions that differ in a commit or in a ref.
func (c convertedShape) same(t *testing.T, other convertedShape) {
	t.Helper()
	c.sameCommits(t, other)
	if git(t, c.dir, "show-ref") != git(t, other.dir, "show-ref") {
		t.Error("other refs")
	}
}

func (c convertedShape) sameCommits(t *testing.T, other convertedShape) {
	t.Helper()
	var maps [2][]byte
	for i, file := range []string{c.mapFile, other.mapFile} {
		var err error
		maps[i], err = os.ReadFile(file)
		must(t, err)
	}
	if !bytes.Equal(maps[0], maps[1]) {
		t.Error("other commits")
	}
}
