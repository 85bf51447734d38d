"""What Git can hold: names, links and trees. The format is gitformat(5) as hashlib sees it."""
import hashlib
import re


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


def is_link(name, target):
    """Whether Git and Linux can hold a target as a symbolic link."""
    return 0 < len(target) < 4096 and b"\0" not in target and name != b".gitmodules"


def object_id(kind, data):
    return hashlib.sha1(b"%s %d\0" % (kind, len(data)) + data)


def encode_tree(entries):
    """The mode and id of a tree of (name, mode, id), or None for one without entries."""
    entries.sort(key=lambda e: e[0] + b"/" if e[1] == b"40000" else e[0])
    data = b"".join(b"%s %s\0%s" % (mode, name, id) for name, mode, id in entries)
    return (b"40000", object_id(b"tree", data).digest()) if entries else None
