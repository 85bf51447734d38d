"""Answers questions about a Subversion repository from libsvn_fs alone: one JSON request a line, one answer a line.

It shares no code with what it judges. What Git can hold is told in gitnames.py, which comes before this.
"""
import json
import sys

from svn import core, fs, repos


class Judge:
    def __init__(self, path):
        self.repository = repos.open(path)
        self.fs = repos.fs(self.repository)
        # Node revision id -> (mode, id), or None for a directory without files. The id changes whenever anything in or
        # below the node changes, so all revisions together cost no more than what changed in them.
        self.known = {}

    def tree(self, root, path, pool):
        if fs.check_path(root, path, pool) != core.svn_node_dir:
            return None
        found = self.directory(root, path)
        return (found[1] if found else object_id(b"tree", b"").digest()).hex()

    def outside(self, root, path, dirs):
        """The tree of what is in a directory and in none of others below it."""
        pool = core.Pool()
        entries = []
        for name, entry in fs.dir_entries(root, path, pool).items():
            child = path + b"/" + name
            if entry.kind != core.svn_node_dir:
                mode, id = self.file(root, child)
                entries.append((self.entry_name(root, child, name, mode), mode, id))
            elif child not in dirs:
                if not any(d.startswith(child + b"/") for d in dirs):
                    found = self.directory(root, child)
                else:
                    found = self.outside(root, child, dirs)
                if found:
                    entries.append((self.entry_name(root, child, name, found[0]), *found))
        pool.destroy()
        return encode_tree(entries)

    def directory(self, root, path):
        pool = core.Pool()
        node = fs.unparse_id(fs.node_id(root, path, pool), pool)
        if node not in self.known:
            entries = []
            for name, entry in fs.dir_entries(root, path, pool).items():
                child = path + b"/" + name
                found = (self.directory if entry.kind == core.svn_node_dir else self.file)(root, child)
                if found:
                    entries.append((self.entry_name(root, child, name, found[0]), *found))
            self.known[node] = encode_tree(entries)
        pool.destroy()
        return self.known[node]

    def entry_name(self, root, path, name, mode):
        if not is_config(name):
            return git_name(name)
        data = None
        if mode != b"40000":
            data = core.Stream(fs.file_contents(root, path)).read()
        return escape(name) if harmful(name, mode, data) else name

    def file(self, root, path):
        pool = core.Pool()
        node = fs.unparse_id(fs.node_id(root, path, pool), pool)
        if node not in self.known:
            data = core.Stream(fs.file_contents(root, path, pool)).read()
            props = fs.node_proplist(root, path, pool) or {}
            mode = b"100644"
            if b"svn:special" in props and data.startswith(b"link ") and is_link(path.rsplit(b"/", 1)[-1], data[5:]):
                mode, data = b"120000", data[5:]
            elif b"svn:executable" in props:
                mode = b"100755"
            self.known[node] = (mode, object_id(b"blob", data).digest())
        pool.destroy()
        return self.known[node]

    def source(self, root, revision, path, pool):
        """Where path was copied from in this very revision, by itself or with a directory above it."""
        if fs.check_path(root, path, pool) == core.svn_node_none:
            return None
        copy = fs.closest_copy(root, path, pool)
        if not copy or fs.revision_root_revision(copy[0]) != revision:
            return None
        copy_root, copy_path = copy
        from_revision, from_path = fs.copied_from(copy_root, copy_path, pool)
        return {"path": (from_path + path[len(copy_path):]).decode().strip("/"), "revision": from_revision}

    def answer(self, request, pool):
        if request["ask"] == "head":
            return fs.youngest_rev(self.fs, pool)
        revision = request["revision"]
        root = fs.revision_root(self.fs, revision, pool)
        path = b"/" + request["path"].encode()
        if request["ask"] == "tree":
            return self.tree(root, path.rstrip(b"/"), pool)
        if request["ask"] == "outside":
            dirs = {b"/" + d.encode() for d in request["dirs"] or []}
            found = None if b"/" in dirs else self.outside(root, b"", dirs)
            return (found[1] if found else object_id(b"tree", b"").digest()).hex()
        if request["ask"] == "source":
            return self.source(root, revision, path, pool)
        if request["ask"] == "changes":
            return sorted(p.decode().strip("/") for p in fs.paths_changed2(root, pool))
        if request["ask"] == "directories":
            if fs.check_path(root, path, pool) != core.svn_node_dir:
                return []
            entries = fs.dir_entries(root, path, pool)
            return sorted(n.decode() for n, e in entries.items() if e.kind == core.svn_node_dir)
        raise ValueError(request)


judge = Judge(sys.argv[1].encode())
for line in sys.stdin:
    pool = core.Pool()
    print(json.dumps(judge.answer(json.loads(line), pool)), flush=True)
    pool.destroy()
