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


ATTRIBUTES = re.compile(rb"(\.gitattributes|gitatt~[1-4]|(?=[^ .:]{8}(?!\d))(gi7d29|gi7d2|gi7d|gi7|gi|g)?~[1-9][0-9]*)[ .]*([:\\].*)?", re.I | re.S)


def is_config(name):
    """Whether Git reads the file as its configuration, so that fsck looks at what is in it."""
    folded = name.decode("utf-8", "surrogateescape").translate(IGNORED).lower()
    return name == b".gitmodules" or not refused(name) and (folded == ".gitattributes" or ATTRIBUTES.fullmatch(name) is not None)


HEADING = re.compile(rb"\s*\[[^\]]*\.\.")
SETTING = re.compile(rb"\s*(?:\[[^\]]*\])?\s*([a-z][a-z0-9-]*)\s*=\s*(.*?)\s*", re.I)
ADDRESS = re.compile(rb"((https?|ftps?|git|ssh|git\+ssh|file)://)?[a-z0-9_~.@/][a-z0-9_~.@/:+,=&?-]*", re.I)
NO_HOST = re.compile(rb"[a-z+]+:(\Z|:|//(\Z|[/:@]))|(\.\.?/)+[:/]|[a-z]+::", re.I)


def harmful_module(line):
    """Whether a line of .gitmodules may be what fsck refuses: a way out of the tree, an option, a command."""
    found = SETTING.fullmatch(line)
    key, value = (found[1].lower(), found[2].strip(b'"')) if found else (b"", b"")
    return (HEADING.match(line) or line.endswith(b"\\")
            or key == b"url" and (not ADDRESS.fullmatch(value) or NO_HOST.match(value))
            or key == b"path" and (value[:1] == b"-" or re.search(rb'["\\]', value))
            or key == b"update" and re.search(rb'["\\!]', value))


def harmful(name, mode, data):
    """Whether an entry of a name that is_config is not left to Git under that name."""
    if mode == b"120000":
        return False
    if data is None or len(data) > 1 << 20:
        return True
    if name == b".gitmodules":
        return any(harmful_module(line.removesuffix(b"\r")) for line in data.split(b"\n"))
    return any(len(line) > 2047 for line in data.split(b"\0")[0].split(b"\n"))


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
    looks_escaped = name[:1] == b"%" and plain != name and escape(plain) == name and (is_config(plain) or git_name(plain) != plain)
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
        return self.encode(entries)

    @staticmethod
    def encode(entries):
        entries.sort(key=lambda e: e[0] + b"/" if e[1] == b"40000" else e[0])
        data = b"".join(b"%s %s\0%s" % (mode, name, id) for name, mode, id in entries)
        return (b"40000", object_id(b"tree", data).digest()) if entries else None

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
            self.known[node] = self.encode(entries)
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
