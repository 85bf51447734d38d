"""Answers questions about a Subversion repository from libsvn_fs alone: one JSON request a line, one answer a line.

It shares no code with what it judges. Git's object format is gitformat(5) as hashlib sees it.
"""
import hashlib
import json
import re
import sys

from svn import core, fs, repos


# What "git fsck --strict" refuses: names that a file system may take for .git or .gitmodules.
IGNORED = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF])
NTFS = re.compile(rb"(\.git|git~1|\.gitmodules|gitmod~[1-4]|(?=[^ .:]{8}(?!\d))(gi7eba|gi7eb|gi7e|gi7|gi|g)?~[1-9][0-9]*)[ .]*([:\\].*)?", re.I | re.S)


def refused(name):
    if name in (b".", b"..") or b"\0" in name:
        return True
    folded = name.decode("utf-8", "surrogateescape").translate(IGNORED).lower()
    parts = [name[m.end():] for m in re.finditer(rb"^|\\", name)]
    return folded in (".git", ".gitmodules") and name != b".gitmodules" or any(
        NTFS.fullmatch(part) and name != b".gitmodules" for part in parts)


def escape(name):
    return b"".join(b"%%%02X" % c if i == 0 or c in b"\\%\0" else bytes([c]) for i, c in enumerate(name))


def git_name(name):
    """The name in a Git tree of a name in Subversion: refused ones are escaped, and those that look escaped."""
    plain = re.sub(rb"%([0-9A-F]{2})", lambda m: bytes([int(m[1], 16)]), name)
    looks_escaped = name[:1] == b"%" and plain != name and escape(plain) == name and git_name(plain) != plain
    return escape(name) if refused(name) or looks_escaped else name


def is_link(name, data):
    """Whether Git and Linux can hold the text of a special file as a symbolic link."""
    return data.startswith(b"link ") and 0 < len(data) - 5 < 4096 and b"\0" not in data and name != b".gitmodules"


def object_id(kind, data):
    return hashlib.sha1(b"%s %d\0" % (kind, len(data)) + data)


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

    def directory(self, root, path):
        pool = core.Pool()
        node = fs.unparse_id(fs.node_id(root, path, pool), pool)
        if node not in self.known:
            entries = []
            for name, entry in fs.dir_entries(root, path, pool).items():
                child = path + b"/" + name
                found = (self.directory if entry.kind == core.svn_node_dir else self.file)(root, child)
                if found:
                    entries.append((git_name(name), *found))
            entries.sort(key=lambda e: e[0] + b"/" if e[1] == b"40000" else e[0])
            data = b"".join(b"%s %s\0%s" % (mode, name, id) for name, mode, id in entries)
            self.known[node] = (b"40000", object_id(b"tree", data).digest()) if entries else None
        pool.destroy()
        return self.known[node]

    def file(self, root, path):
        pool = core.Pool()
        node = fs.unparse_id(fs.node_id(root, path, pool), pool)
        if node not in self.known:
            data = core.Stream(fs.file_contents(root, path, pool)).read()
            props = fs.node_proplist(root, path, pool) or {}
            mode = b"100644"
            if b"svn:special" in props and is_link(path.rsplit(b"/", 1)[-1], data):
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
