"""Compiled code on disk, so that a process compiles nothing that an earlier one has compiled, and
does not even load LLVM.

    <root>/key                  this user's secret, with which every file is authenticated
    <root>/sources              which source files have which contents: not read at every start
    <root>/<fingerprint>/pack   what was used last time, loaded at start
                         *.new  compiled since (loaded at start too); packed when the process ends
                         *.old  what no longer fits the pack: looked up when asked for
    <root>/<kind>/<name>        code that its name says all of: kernels of GPUs

A fingerprint stands for everything that decides what a key's code is: our sources, LLVM, the
machine and the Python version. A file that is truncated, altered, of another user or writable by
others is as good as absent; where nothing can be written there is no cache. Files appear by rename,
so that a reader sees all of one or none. `WHET_CACHE_DIR` moves the root, `WHET_CACHE=0` turns the
cache off.
"""
import marshal
import os
import stat
import sys
import time
from _operator import _compare_digest as same

try:                                     # hashlib would load OpenSSL for it: 5 ms
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

MAC, MAX_FILE = 32, 1 << 26
PACK_BYTES = 4 << 20                     # read at every start, at about 1 ms a megabyte
ROOT_BYTES, MAX_FINGERPRINTS = 512 << 20, 8
PACKAGES = ("whet", "whet.ir", "whet.passes", "whet.jit")


_started = time.time_ns()


class Entry:
    """One piece of code: a flat image, or an object file for LLVM to load."""
    __slots__ = ("kind", "names", "slots", "code", "used")

    def __init__(self, kind, names, slots, code, used=0):
        self.kind = kind                 # "flat" or "object"
        self.names = names               # key -> offset in the image, or symbol in the object file
        self.slots = slots               # (name, offset) of the addresses to fill in
        self.code = code
        self.used = used                 # when it last went into a pack, in seconds


def _hash(*parts):
    h = blake2b(digest_size=16)
    for part in parts:
        part = part if isinstance(part, bytes) else str(part).encode()
        h.update(b"%d:" % len(part) + part)
    return h.hexdigest()


def _ours(st, kind):
    return kind(st.st_mode) and st.st_uid == os.geteuid() and not st.st_mode & 0o022


def _read(path):
    """The contents of a regular file of ours that no other user may write, or None."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        st = os.fstat(fd)
        if not _ours(st, stat.S_ISREG) or st.st_size > MAX_FILE:
            return None
        data = os.read(fd, st.st_size + 1)
        return data if len(data) == st.st_size else None
    except OSError:
        return None
    finally:
        os.close(fd)


def _write(path, data, new=False):
    """Put a file in place all at once; False where that fails, or where it exists and should be
    `new`."""
    temporary = f"{path}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
    try:
        fd = os.open(temporary,
                     os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC,
                     0o600)
    except OSError:
        return False
    try:
        try:
            whole = os.write(fd, data) == len(data)
        finally:
            os.close(fd)
        if not whole:
            return False
        if new:
            os.link(temporary, path)
        else:
            os.replace(temporary, path)
        return True
    except OSError:
        return False
    finally:
        _remove(temporary)


def _remove(path):
    try:
        os.unlink(path)
    except OSError:
        pass


def _scan(path):
    try:
        with os.scandir(path) as it:
            return list(it)
    except OSError:
        return []


def _directory(path, follow):
    """Make a folder if there is none; is it ours, and closed to others' writing?"""
    try:
        os.makedirs(path, 0o700, exist_ok=True)
        return _ours(os.stat(path, follow_symlinks=follow), stat.S_ISDIR)
    except OSError:
        return False


def root():
    """The folder of this user's cache, or None. In a folder shared with others everyone has a
    folder of their own."""
    if os.environ.get("WHET_CACHE") == "0" or not hasattr(os, "geteuid"):
        return None
    asked = os.environ.get("WHET_CACHE_DIR")
    path = (asked or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "whet"))
    if not os.path.isabs(path):
        path = os.path.abspath(path) if asked else None
    if path is None or _directory(path, follow=True):
        return path
    path = os.path.join(path, f"user-{os.geteuid()}")
    return path if asked and _directory(path, follow=False) else None


def _secret(folder):
    path = os.path.join(folder, "key")
    found = _read(path)
    if found is None or len(found) != MAC:
        # What is no key is replaced. Of two processes that start together in an empty folder the
        # first wins.
        _write(path, os.urandom(MAC), new=not os.path.lexists(path))
        found = _read(path)
    return found if found is not None and len(found) == MAC else None


def _sources():
    """Names, paths, times and sizes of all that generates code."""
    from importlib.util import find_spec
    listing, seen = [], set()

    def add(folder, name):
        if folder in seen:
            return
        seen.add(folder)
        for entry in _scan(folder):
            if entry.name.endswith(".py"):
                st = entry.stat()
                listing.append((f"{name}/{entry.name}", entry.path, st.st_mtime_ns, st.st_size))
            elif entry.is_dir() and entry.name.isidentifier() and not entry.name.startswith("__"):
                add(entry.path, f"{name}/{entry.name}")

    for name in PACKAGES:
        spec = find_spec(name)
        for folder in spec.submodule_search_locations if spec else ():
            add(folder, name)
    if not listing:
        raise OSError("the package's sources are not files: nothing says which version they are")
    spec = find_spec("llvmlite")
    for folder in spec.submodule_search_locations if spec else ():
        for entry in [*_scan(os.path.join(folder, "binding")), *_scan(folder)]:
            if (entry.name == "_version.py" or entry.name.startswith(
                ("libllvmlite", "llvmlite.dll"))):
                st = entry.stat()
                listing.append((f"llvmlite/{entry.name}", entry.path, st.st_mtime_ns, st.st_size))
    return sorted(listing)


class Sealed:
    """Files in the cache's folder that are authenticated with the user's secret."""

    def __init__(self, folder, secret):
        self.root, self.secret = folder, secret

    def seal(self, value):
        data = marshal.dumps(value)
        return blake2b(data, key=self.secret, digest_size=MAC).digest() + data

    def open(self, path):
        """What was sealed into a file, or None."""
        data = _read(path)
        if data is None or len(data) < MAC:
            return None
        body = memoryview(data)[MAC:]
        if not same(blake2b(body, key=self.secret, digest_size=MAC).digest(), data[:MAC]):
            return None
        return marshal.loads(body)


class Loaded:
    """The modules of ours that this process has loaded: were their sources still those that were
    listed at its start?

    Each is looked at once, as a module is not loaded again. All of them would be a thousand files,
    each of which a thread that compiles in the background has to wait for Python's lock for."""

    def __init__(self, sources):
        self.listed = {path: (when, size) for _, path, when, size in sources}
        self.folders = {os.path.dirname(path) for path in self.listed}
        # what code is compiled by besides: LLVM is loaded where code is
        self.waiting = [path for path in self.listed if not path.endswith(".py")]
        # the last module of all that were there at the last look, and whether all were as listed
        self.last, self.unchanged = None, True

    def are_as_listed(self):
        """Are all that were loaded so far as they were listed?"""
        if self.unchanged:
            files = [getattr(module, "__file__", None) for module in self._new()]
            self.unchanged = all(self._as_listed(file) for file in [*files, *self.waiting] if file)
            self.waiting = []
        return self.unchanged

    def _new(self):
        """Our modules that were loaded since the last look. Later ones stand behind those."""
        names = list(sys.modules)
        start = len(names)
        while start and names[start - 1] != self.last:
            start -= 1
        self.last = names[-1]
        return [sys.modules.get(name) for name in names[start:] if name.partition(".")[0] == "whet"]

    def _as_listed(self, path):
        """Is a source as it was? Also where no source is listed beside it, as paths may be written
        otherwise."""
        if os.path.dirname(path) not in self.folders:
            return True
        try:
            st = os.stat(path)
        except OSError:
            return False
        return self.listed.get(path) == (st.st_mtime_ns, st.st_size)


class Cache(Sealed):
    """One fingerprint's folder."""

    def __init__(self, folder, secret):
        super().__init__(folder, secret)
        self.sources = _sources()
        self.loaded = Loaded(self.sources)
        self.path = os.path.join(folder, self.fingerprint())
        # entries that belong into the pack, and found ones that it had no room for
        self.fresh, self.met = [], []

    def fingerprint(self):
        """Names what decides the code of a key. Contents are hashed once, then recognised by
        time and size, as Python does."""
        from whet.passes.lower_llvm import targets
        seen = _hash(self.sources)
        path = os.path.join(self.root, "sources")
        known = self.open(path)
        known = known[1] if isinstance(known, tuple) and known[0] == "sources" else {}
        if seen not in known:
            parts = []
            for name, file, _, size in self.sources:
                with open(file, "rb") as f:
                    parts += [name, f.read() if name.endswith(".py") else size]
            known = {**dict(list(known.items())[-63:]), seen: _hash(*parts)}
            _write(path, self.seal(("sources", known)))
        return _hash("whet 1", known[seen], sys.implementation.cache_tag,
                     targets.current().name, targets.identity(), targets.CHECKED)

    # entries

    def entries(self, path):
        """The entries of a file; none where it is not of this fingerprint."""
        value = self.open(path)
        if not isinstance(value, tuple) or value[:2] != ("entries", os.path.basename(self.path)):
            return []
        return [Entry(*fields) for fields in value[2]]

    def save(self, path, entries):
        fields = [(e.kind, e.names, tuple(e.slots), e.code, e.used) for e in entries]
        return (_directory(self.path, follow=False)
                and _write(path, self.seal(("entries", os.path.basename(self.path), fields))))

    def file(self, key, ending):
        return os.path.join(self.path, _hash(key) + ending)

    def start(self):
        """What earlier processes used or left."""
        packed = self.entries(os.path.join(self.path, "pack"))
        have = {key for e in packed for key in e.names}
        seen = set()
        for file in _scan(self.path):
            if file.name.endswith(".new") and file.inode() not in seen:
                seen.add(file.inode())
                self.fresh += [e for e in self.entries(file.path) if not have >= e.names.keys()]
        return packed + self.fresh

    def find(self, key):
        """The entry that holds a key which was not there at the start, or None."""
        for ending, group in ((".new", self.fresh), (".old", self.met)):
            for entry in self.entries(self.file(key, ending)):
                if key in entry.names:
                    group.append(entry)
                    return entry
        return None

    def put(self, entry):
        """Keep new code, unless a source that changed since the start may have had a part in it."""
        if self.loaded.are_as_listed():
            self.fresh.append(entry)
            self._file(entry, ".new")

    def _file(self, entry, ending):
        first, *others = (self.file(key, ending) for key in entry.names)
        if self.save(first, [entry]):
            for other in others:         # one file, found by each of its keys
                try:
                    os.link(first, other)
                except OSError:
                    pass

    def pack(self, used):
        """Write what this process used, and what fits of what others did, to the file that is
        read at start."""
        if not self.fresh or not _directory(self.path, follow=False):
            return
        import fcntl
        try:
            lock = os.open(os.path.join(self.path, "lock"),
                           os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC,
                           0o600)
        except OSError:
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._pack(used)
        except OSError:
            # another process is at it: what is new stays in its files until the next time
            pass
        finally:
            os.close(lock)

    def _pack(self, used):
        path, now = os.path.join(self.path, "pack"), int(time.time())
        there = self.entries(path)
        for entry in self.fresh:
            entry.used = now
        for entry in [*there, *self.met]:
            if not used.isdisjoint(entry.names):
                entry.used = now
        have, keep, rest, size = set(), [], [], 0
        for entry in sorted([*self.fresh, *there, *self.met], key=lambda e: -e.used):
            if have >= entry.names.keys():
                continue
            have |= entry.names.keys()
            fits = size + len(entry.code) <= PACK_BYTES
            size += len(entry.code) if fits else 0
            (keep if fits else rest).append(entry)
        if not self.save(path, keep):
            return
        for entry in rest:
            self._file(entry, ".old")
        for key in have:
            _remove(self.file(key, ".new"))
        for entry in keep:
            for key in entry.names:
                _remove(self.file(key, ".old"))
        self.fresh, self.met = [], []
        prune(self.root, os.path.basename(self.path))


def prune(folder, current):
    """Keep the cache within its bounds: the oldest folders go first, then the oldest files of
    the current one."""
    def age(entry):
        try:
            st = entry.stat(follow_symlinks=False)
            return st.st_mtime, st.st_size
        except OSError:
            return 0, 0

    total, folders = 0, []
    for f in _scan(folder):
        if f.is_dir(follow_symlinks=False) and len(f.name) == 32:
            files = [(*age(x), x.path) for x in _scan(f.path)]
            folders.append(
                (f.name == current, max([t for t, _, _ in files], default=0), f.path, files))
        elif f.name.endswith(".tmp") and age(f)[0] < time.time() - 3600:
            _remove(f.path)
    for rank, (mine, _, path, files) in enumerate(sorted(folders, reverse=True)):
        for when, size, file in sorted(files, reverse=True):
            total += size
            stale = file.endswith(".tmp") and when < time.time() - 3600
            if stale or total > ROOT_BYTES or (rank >= MAX_FINGERPRINTS and not mine):
                _remove(file)
        if not mine:
            try:
                os.rmdir(path)
            except OSError:
                pass                     # still in use


class Named(Sealed):
    """A folder of values by name, for code that a name says all of."""

    def __init__(self, folder, secret, kind):
        super().__init__(folder, secret)
        self.path = os.path.join(folder, _hash(kind))

    def find(self, name):
        """What was kept under a name, or None."""
        found = self.open(os.path.join(self.path, name))
        return found[1] if isinstance(found, tuple) and found[0] == name else None

    def put(self, name, value):
        """Keep a value, where that can be done."""
        if _directory(self.path, follow=False):
            _write(os.path.join(self.path, name), self.seal((name, value)))


def opened(kind, *more):
    """A store of a kind in this user's folder; None where there can be none."""
    try:
        folder = root()
        secret = folder and _secret(folder)
        return kind(folder, secret, *more) if secret else None
    except OSError:
        return None


def connect():
    """This process's Cache, or None where there can be none."""
    store = opened(Cache)
    # A source that changed while this process was starting may have been imported as it was before.
    # A time in the future says nothing of when that was.
    recent = lambda when: _started - 2_000_000_000 <= when <= time.time_ns()
    return store if store and not any(recent(when) for _, _, when, _ in store.sources) else None
