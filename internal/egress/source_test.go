package egress

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mayDial are the few that connect to something other than an origin.
var mayDial = map[string]string{
	"internal/egress":  "everything",
	"internal/sshdial": "the user's ssh agent, a local socket",
}

var dialing = map[string][]string{
	"net":      {"Dial", "DialTimeout", "DialTCP", "DialUDP", "DialIP", "DialUnix", "Dialer"},
	"net/http": {"DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm", "Client", "Transport"},
	"crypto/tls": {
		"Dial", "DialWithDialer", "Dialer",
	},
	"golang.org/x/crypto/ssh": {"Dial"},
}

// Nobody else dials: what connects on a user's behalf takes an Egress.
func TestNobodyElseDials(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && rel != "." || rel == "internal/gantrytest" || rel == "client" || rel == "bench"):
			return filepath.SkipDir // tests' own, and the program that a user runs against a server
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || mayDial[filepath.Dir(rel)] != "":
			return nil
		}
		return checkFile(t, path, rel)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkFile(t *testing.T, path, rel string) error {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, 0)
	if err != nil {
		return err
	}
	forbidden := make(map[string][]string) // by the name under which the file knows the package
	for _, spec := range file.Imports {
		from := strings.Trim(spec.Path.Value, `"`)
		name := from[strings.LastIndexByte(from, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		forbidden[name] = dialing[from]
	}
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := selector.X.(*ast.Ident); ok && pkg.Obj == nil && slices.Contains(forbidden[pkg.Name], selector.Sel.Name) {
			t.Errorf("%s:%d uses %s.%s; connections go through internal/egress", rel, files.Position(n.Pos()).Line, pkg.Name, selector.Sel.Name)
		}
		return true
	})
	return nil
}
