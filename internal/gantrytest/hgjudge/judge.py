"""An extension of hg that tells what a Git repository made of a Mercurial one has to have: a line of JSON for each changeset
that the repository shows to others, and one about its names.

It shares no code with what it judges. What Git can hold is told in gitnames.py, which comes before this.
"""
import json
import re

from mercurial import bookmarks, node, registrar

cmdtable = {}
command = registrar.command(cmdtable)

LARGE = 1 << 13  # the flag of a revision whose text is a pointer
MERCURIAL = re.compile(rb"(\.hg|hg~1)[ .]*([:\\].*)?", re.I | re.S)


def hidden(name):
    folded = name.decode("utf-8", "surrogateescape").translate(IGNORED).lower()
    return folded == ".hg" or MERCURIAL.fullmatch(name) is not None


def hg_name(name):
    """git_name, where names that would configure Mercurial, and that of no bytes, are escaped, too."""
    if not name:
        return b"%00"
    plain = re.sub(rb"%([0-9A-F]{2})", lambda m: bytes([int(m[1], 16)]), name)
    looks_escaped = name[:1] == b"%" and plain != name and escape(plain) == name and hg_name(plain) != plain
    return escape(name) if hidden(name) or looks_escaped else git_name(name)


def text(local):
    """What hg shows of a text where its encoding is UTF-8."""
    return bytes(local).decode("utf-8")


class Trees:
    def __init__(self, repo):
        self.repo = repo
        self.known = {}  # (path, node of the file) -> content

    def content(self, context, path):
        key = path, context.filenode(path)
        if key not in self.known:
            data = context[path].data()
            log = context[path].filelog()
            log = getattr(log, "_revlog", log)
            if log.flags(log.rev(key[1])) & LARGE:
                pointer = dict(line.split(b" ", 1) for line in log.rawdata(key[1]).splitlines())
                data = b"version %s\noid %s\nsize %s\n" % (pointer[b"version"], pointer[b"oid"], pointer[b"size"])
            self.known[key] = data, object_id(b"blob", data).digest()
        return self.known[key]

    def tree(self, context):
        root = {}
        for path in context.manifest():
            *dirs, name = path.split(b"/")
            at = root
            for d in dirs:
                at = at.setdefault(d, {})
            at[name] = path
        found = self.encode(context, root)
        return (found[1] if found else object_id(b"tree", b"").digest()).hex()

    def encode(self, context, directory):
        entries = []
        for name, what in directory.items():
            if isinstance(what, dict):
                mode, id = self.encode(context, what)
                data = None
            else:
                data, id = self.content(context, what)
                mode = {b"l": b"120000", b"x": b"100755"}.get(context.flags(what), b"100644")
                if mode == b"120000" and not is_link(name, data):
                    mode = b"100644"
            if is_config(name):
                name = escape(name) if harmful(name, mode, data) else name
            else:
                name = hg_name(name)
            entries.append((name, mode, id))
        return encode_tree(entries)


def names(repo):
    branches = []
    for branch in repo.branchmap():
        # That of hg may also have some with a descendant on the branch by way of another one, against its own help.
        tips = [n for n in repo.branchmap().branchheads(branch, closed=True)
                if not any(repo[r].branch() == branch for r in repo.revs(b"descendants(%n) - %n", n, n))]
        branches.append({
            "name": text(branch),
            "open": [node.hex(n).decode() for n in tips if not repo[n].closesbranch()],
            "closed": [node.hex(n).decode() for n in tips if repo[n].closesbranch()],
        })
    return {
        "branches": branches,
        "bookmarks": {text(name): n.decode() for name, n in bookmarks.listbookmarks(repo).items()},
        "tags": {text(name): node.hex(n).decode() for name, n in repo.tags().items() if name != b"tip" and repo.tagtype(name) == b"global"},
    }


@command(b"gantryjudge", [], b"")
def judge(ui, repo):
    def write(answer):
        ui.fout.write(json.dumps(answer).encode() + b"\n")

    repo = repo.filtered(b"served")
    trees = Trees(repo)
    for rev in repo:
        context = repo[rev]
        seconds, west = context.date()
        write({
            "node": text(context.hex()),
            "parents": [text(p.hex()) for p in context.parents() if p.rev() >= 0],
            "tree": trees.tree(context),
            "user": text(context.user()),
            "seconds": int(seconds),
            "west": west,
            "description": text(context.description()),
            "branch": text(context.branch()),
        })
    write(names(repo))
