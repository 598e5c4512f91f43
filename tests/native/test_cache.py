"""The cache of compiled code: found again without LLVM, never trusted when it is not whole and
ours, safe between processes."""
import importlib
import os
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest
from whet.cpu import cache, mapped_code

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no cache on this system")


# In this process: what is believed, where it is kept

@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache, for sources that stay as they are."""
    source = tmp_path / "source.py"
    source.write_text("pass")
    monkeypatch.setattr(
        cache,
        "_sources",
        lambda: [("source.py", str(source), source.stat().st_mtime_ns, source.stat().st_size)])
    monkeypatch.setattr(cache, "_started", source.stat().st_mtime_ns + 10**10)
    monkeypatch.setenv("WHET_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("WHET_CACHE", raising=False)
    return tmp_path / "cache"


def entry(*keys, size=100):
    return cache.Entry("flat", {key: 16 * i for i, key in enumerate(keys)}, (("memset", 8),),
                       (keys[0].encode() * size)[:size])


def write(*entries):
    """What a process that compiled these leaves."""
    store = cache.connect()
    store.start()
    for e in entries:
        store.put(e)
    store.pack(set().union(*(e.names for e in entries)))


def keys():
    """What a process finds at its start."""
    store = cache.connect()
    return sorted(key for e in store.start() for key in e.names) if store else None


def files(folder):
    return sorted(f.name for f in folder.rglob("*") if f.is_file())


def pack(folder):
    return next(folder.glob("*/pack"))


def test_entries_come_back_as_they_were(folder):
    write(entry("a", "b"), entry("c"))
    found = {e.code: e for e in cache.connect().start()}
    for e in (entry("a", "b"), entry("c")):
        assert ((found[e.code].kind, found[e.code].names,
                 found[e.code].slots) == (e.kind, e.names, e.slots))
    write(entry("d"))
    assert keys() == ["a", "b", "c", "d"]


def test_files_are_private_and_packed(folder):
    write(entry("a"))
    assert files(folder) == ["key", "lock", "pack", "sources"]
    assert all(f.stat().st_mode & 0o077 == 0 for f in [folder, *folder.rglob("*")])


DAMAGE = {
    "empty": lambda data: b"",
    "short": lambda data: data[:20],
    "truncated": lambda data: data[:len(data) // 2],
    "longer": lambda data: data + b"\0",
    "junk": lambda data: os.urandom(len(data))}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", ["pack", "new", "key", "sources"])
def test_a_damaged_file_is_as_good_as_absent(folder, name, damage):
    store = cache.connect()
    store.put(entry("a"))
    if name != "new":
        store.pack({"a"})
    path = next(f for f in folder.rglob("*") if f.name.endswith(name))
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    assert keys() == (["a"] if name == "sources" else [])
    write(entry("a"))
    assert keys() == ["a"]


def test_no_flipped_bit_goes_unnoticed(folder):
    write(entry("a", size=10))
    data = pack(folder).read_bytes()
    for i in range(len(data)):
        pack(folder).write_bytes(data[:i] + bytes([data[i] ^ 1 << i % 8]) + data[i + 1:])
        assert keys() == []
    pack(folder).write_bytes(data)
    assert keys() == ["a"]


def test_a_pack_of_another_secret_is_not_believed(folder):
    write(entry("a"))
    data = pack(folder).read_bytes()
    shutil.rmtree(folder)
    write(entry("b"))
    pack(folder).write_bytes(data)
    assert keys() == []


def test_a_pack_of_another_fingerprint_is_not_believed(folder, monkeypatch):
    write(entry("a"))
    data, first = pack(folder).read_bytes(), pack(folder)
    monkeypatch.setattr(cache, "PACKAGES", ())
    monkeypatch.setattr(cache.sys.implementation, "cache_tag", "other-1")
    assert keys() == []
    write(entry("b"))
    second = next(p for p in folder.glob("*/pack") if p != first)
    second.write_bytes(data)
    assert keys() == []


def test_an_entry_under_another_name_is_not_believed(folder):
    store = cache.connect()
    store.put(entry("a"))
    shutil.copy(store.file("a", ".new"), store.file("b", ".new"))
    assert store.find("b") is None and store.find("a") is not None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
@pytest.mark.parametrize("name", ["pack", "key"])
def test_a_file_that_others_may_write_is_not_believed(folder, name, mode):
    write(entry("a"))
    next(folder.rglob(name)).chmod(mode)
    assert keys() == []


def test_a_link_or_a_folder_is_not_read(folder, tmp_path):
    write(entry("a"))
    path = pack(folder)
    path.rename(tmp_path / "pack")
    path.symlink_to(tmp_path / "pack")
    assert keys() == []
    path.unlink()
    path.mkdir()
    assert keys() == []
    write(entry("b"))
    assert keys() == ["b"]                                  # it stays in its own file


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give files away")
def test_files_of_another_user_are_not_believed(folder):
    write(entry("a"))
    os.chown(pack(folder), 12345, -1)
    assert keys() == []
    # then everyone has a folder of their own in it
    os.chown(folder, 12345, -1)
    write(entry("b"))
    assert keys() == ["b"] and (folder / f"user-{os.geteuid()}" / "key").exists()


def test_in_a_folder_shared_with_others_everyone_has_a_folder_of_their_own(folder):
    folder.mkdir()
    folder.chmod(0o777)
    write(entry("a"))
    mine = folder / f"user-{os.geteuid()}"
    assert (mine.stat().st_mode & 0o777 == 0o700
            and [f.name for f in folder.iterdir()] == [mine.name] and keys() == ["a"])
    mine.chmod(0o777)
    assert keys() is None


def test_the_standard_place_is_left_alone_where_it_is_not_ours_alone(monkeypatch, tmp_path):
    monkeypatch.delenv("WHET_CACHE_DIR", raising=False)
    monkeypatch.delenv("WHET_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.root() == str(tmp_path / "whet")
    (tmp_path / "whet").chmod(0o777)
    assert cache.root() is None and not list((tmp_path / "whet").iterdir())
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache.root() == str(tmp_path / "home" / ".cache" / "whet")
    monkeypatch.setenv("WHET_CACHE", "0")
    assert cache.root() is None


# no space, read-only file system, no permission
@pytest.mark.parametrize("error", [28, 30, 13])
def test_where_nothing_can_be_written_what_is_there_is_used(folder, monkeypatch, error):
    real = os.open
    def refuse(path, flags, *rest, **more):
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(error, "refused")
        return real(path, flags, *rest, **more)
    with monkeypatch.context() as m:
        m.setattr(os, "open", refuse)
        assert keys() is None and not files(folder)
    write(entry("a"))
    with monkeypatch.context() as m:
        m.setattr(os, "open", refuse)
        write(entry("b"))
        assert keys() == ["a"]


def test_a_disk_that_fills_up_leaves_no_torn_file(folder, monkeypatch):
    store, real = cache.connect(), os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:10]))
    store.put(entry("a"))
    store.pack({"a"})
    assert files(folder) == ["key", "lock", "sources"]


def test_a_folder_that_cannot_be_made_means_no_cache(folder, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/none")):
        monkeypatch.setenv("WHET_CACHE_DIR", str(path))
        assert cache.connect() is None


def test_a_process_that_ends_badly_leaves_what_it_compiled(folder):
    store = cache.connect()
    store.put(entry("a"))
    store.put(entry("b", "c"))                              # and never packs
    torn = Path(store.path) / "x.new.1.2.tmp"
    torn.write_bytes(b"half")
    os.utime(torn, (1e9, 1e9))
    assert keys() == ["a", "b", "c"]
    write(entry("d"))
    assert files(folder) == ["key", "lock", "pack", "sources"] and keys() == ["a", "b", "c", "d"]


def test_what_another_process_wrote_since_the_start_is_found(folder):
    early, late = cache.connect(), cache.connect()
    early.start()
    late.put(entry("a", "b"))
    assert early.find("b").code == entry("a", "b").code and early.find("c") is None
    early.pack({"b"})
    late.pack({"a", "b"})
    assert keys() == ["a", "b"]


def test_while_one_process_packs_another_leaves_its_files(folder):
    import fcntl
    store = cache.connect()
    store.put(entry("a"))
    lock = os.open(os.path.join(store.path, "lock"), os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    store.pack({"a"})
    os.close(lock)
    assert not list(folder.glob("*/pack")) and keys() == ["a"]


def test_what_does_not_fit_the_pack_is_found_one_by_one(folder, monkeypatch):
    monkeypatch.setattr(cache, "PACK_BYTES", 500)
    write(entry("huge", size=501), *(entry(f"k{i}") for i in range(4)))
    assert keys() == ["k0", "k1", "k2", "k3"]
    monkeypatch.setattr(cache.time, "time", lambda: 4e9)
    write(*(entry(f"new{i}", f"also{i}") for i in range(4)))
    assert {f"new{i}" for i in range(4)} < set(keys()) and len(keys()) == 9
    store = cache.connect()
    there = {key for e in store.start() for key in e.names}
    for key in {"huge", "k0", "k1", "k2", "k3"} - there:
        assert key in store.find(key).names
    before = pack(folder).stat().st_mtime_ns
    store.pack(there)                                       # nothing is new: nothing is written
    assert pack(folder).stat().st_mtime_ns == before


def test_the_cache_stays_within_its_bounds(folder, monkeypatch):
    write(entry("a"))
    mine = pack(folder).parent.name
    for i in range(12):
        (folder / f"{i:032x}").mkdir()
        (folder / f"{i:032x}" / "pack").write_bytes(bytes(1000))
        os.utime(folder / f"{i:032x}" / "pack", (1e9 + i, 1e9 + i))
    (folder / "not ours").mkdir()
    write(entry("b"))
    left = sorted(f.name for f in folder.iterdir() if f.is_dir() and f.name != "not ours")
    assert (left == sorted([
        mine, *(f"{i:032x}" for i in range(12 - cache.MAX_FINGERPRINTS + 1, 12))]))
    monkeypatch.setattr(cache, "ROOT_BYTES", 3000)
    write(entry("c"))
    assert (mine in [f.name for f in folder.iterdir()]
            and sum(f.stat().st_size for f in folder.glob("*/*")) <= 3000)
    assert keys() == ["a", "b", "c"] and (folder / "not ours").exists()


def loads(monkeypatch, path):
    """Have a module of ours that was loaded from a file."""
    module = types.ModuleType(f"whet.{path.stem}")
    module.__file__ = str(path)
    monkeypatch.setitem(sys.modules, module.__name__, module)


def test_code_of_sources_that_changed_is_not_cached(folder, monkeypatch, tmp_path):
    source, store = tmp_path / "source.py", cache.connect()
    store.put(entry("a"))
    source.write_text("changed")
    store.put(entry("b"))                      # nothing of it was loaded
    assert len(list(folder.glob("*/*.new"))) == 2
    loads(monkeypatch, source)
    store.put(entry("c"))
    assert len(list(folder.glob("*/*.new"))) == 2
    loads(monkeypatch, tmp_path / "added.py")
    for later in (store, cache.connect()):
        if later is not None:
            later.put(entry("d"))
    assert len(list(folder.glob("*/*.new"))) == 2


def test_a_source_that_was_loaded_as_listed_may_change(folder, monkeypatch, tmp_path):
    source, store = tmp_path / "source.py", cache.connect()
    loads(monkeypatch, source)
    store.put(entry("a"))
    source.write_text("changed")
    store.put(entry("b"))
    assert len(list(folder.glob("*/*.new"))) == 2


def test_what_was_loaded_since_the_last_look_is_looked_at(monkeypatch, tmp_path):
    loaded = cache.Loaded([])
    assert sys.modules["whet"] in loaded._new() and loaded._new() == []
    loads(monkeypatch, tmp_path / "late.py")
    assert [module.__name__ for module in loaded._new()] == ["whet.late"]
    monkeypatch.delitem(sys.modules, "whet.late")      # the last one is gone: all are looked at
    assert sys.modules["whet"] in loaded._new()


def test_sources_that_changed_just_now_are_not_cached(folder, monkeypatch, tmp_path):
    (tmp_path / "source.py").write_text("changed")
    monkeypatch.setattr(cache, "_started", (tmp_path / "source.py").stat().st_mtime_ns + 10**9)
    assert cache.connect() is None
    # a clock that was wrong does not turn the cache off
    os.utime(tmp_path / "source.py", (4e9, 4e9))
    assert cache.connect() is not None


def test_the_fingerprint_is_of_contents_not_of_times(folder, tmp_path):
    write(entry("a"))
    os.utime(tmp_path / "source.py", (1e9, 1e9))
    assert keys() == ["a"]
    (tmp_path / "source.py").write_text("other")
    os.utime(tmp_path / "source.py", (1e9, 1e9))
    assert keys() == []


def test_sources_that_are_no_files_mean_no_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("WHET_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "PACKAGES", ())
    assert cache.connect() is None


# Between processes. They run a copy of the compiler and of the native parts, whose sources nobody
# edits meanwhile.

HEAD = """
import os, sys, threading
import numpy as np
from whet.cpu import cache, memory, native, thread_pool
def emit(m, symbol, a):
    f = m.kernel(symbol)
    f.store(f.as_val(a, "i64"), f.load("ptr", f.args[0]))
def check(*values):
    for a in values:
        out = np.zeros(1, np.int64)
        native.launch(native.kernel(f"store/{a}", lambda m, symbol: emit(m, symbol, a)), 1, 1, out)
        assert out[0] == a
    memory.empty((10,), np.dtype("f4"))
def report():
    print("compiled" if "llvmlite" in sys.modules else "loaded", end="")
"""
LOADED = "loaded" if mapped_code.SUPPORTED else "compiled"  # an object file needs LLVM


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    root = tmp_path_factory.mktemp("package")
    (root / "whet").mkdir()
    (root / "whet" / "__init__.py").touch()
    for name in ("cpu", "ir", "passes"):
        folder = Path(importlib.import_module(f"whet.{name}").__file__).parent
        shutil.copytree(folder, root / "whet" / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file in root.rglob("*.py"):
        os.utime(file, (1e9, 1e9))
    return root


@pytest.fixture
def start(package, tmp_path):
    def start(program, **env):
        ours = {
            "WHET_CACHE": "1", "WHET_CACHE_DIR": str(tmp_path / "cache"), "WHET_CPU": "",
            "PYTHONPATH": str(package),
            # a test forks while threads run, of which Python warns from 3.12 on
            "PYTHONWARNINGS": "ignore:This process:DeprecationWarning"}
        env = {**os.environ, **ours, **env}
        return subprocess.Popen([sys.executable, "-c", HEAD + program], env=env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return start


@pytest.fixture
def run(start):
    def run(program, **env):
        process = start(program, **env)
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0 and not err, err
        return out
    return run


def test_the_second_process_does_not_load_llvm(run):
    assert run("check(3, 5); report()") == "compiled"
    assert run("check(5, 3); report()") == LOADED
    assert run("check(3, 7); report()") == "compiled"
    assert run("check(7, 5, 3); report()") == LOADED
    assert run("check(7, 5, 3); report()", WHET_NATIVE="0") == LOADED
    assert run("check(3); report()", WHET_CACHE="0") == "compiled"


def test_where_texts_are_wanted_the_cache_gives_nothing_and_keeps_nothing(run, tmp_path):
    run("check(3)")
    kept = files(tmp_path / "cache")
    wanted = "native.sources = {}; check(3, 5); print(*sorted(native.sources), end='')"
    assert [key for key in run(wanted).split() if key.startswith("store/")] == ["store/3", "store/5"]
    assert files(tmp_path / "cache") == kept
    assert run("check(3); report()") == LOADED


def test_a_damaged_pack_is_compiled_again(run, tmp_path):
    run("check(3)")
    data = bytearray(pack(tmp_path / "cache").read_bytes())
    data[-5] ^= 1
    pack(tmp_path / "cache").write_bytes(data)
    assert run("check(3); report()") == "compiled"
    assert run("check(3); report()") == LOADED


def test_objects_are_kept_where_there_are_no_images(run):
    program = ("from whet.cpu import mapped_code; mapped_code.flatten = lambda obj: None; "
               "calls = []; real = native._compile\n")
    program += ("native._compile = lambda *a: (calls.append(a), real(*a)); check(3, 5); "
                "print(len(calls), end='')")
    first, second = run(program), run(program)
    assert int(first) >= 2 and second == "0"


def test_a_killed_process_leaves_what_it_compiled(run, start):
    process = start(
        "check(3)\nnative.kernels([(f'store/{a}', lambda m, s, a=a: emit(m, s, a)) for a in (5, "
        "7)])\n"
        "os.kill(os.getpid(), 9)")
    process.communicate(timeout=300)
    assert process.returncode == -9
    assert run("check(3, 5, 7); report()") == LOADED


def test_processes_at_the_same_time_lose_nothing(run, start):
    crowd = [start(f"check(*range({i}, 24)); check(*range({i}))") for i in range(0, 24, 8)]
    for process in crowd:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0 and not err, err
    assert run("check(*range(24)); report()") == LOADED


def test_another_target_is_another_cache(run, start):
    if not mapped_code.SUPPORTED:
        pytest.skip("one target on this machine")
    run("check(3)")
    assert ([run("check(3); report()", WHET_CPU=cpu)
             for cpu in ("baseline", "baseline", "")] == ["compiled", "loaded", "loaded"])
    _, err = start("check(3)", WHET_CPU="z80").communicate(timeout=300)
    assert "WHET_CPU=z80" in err


TOGETHER = """
from functools import partial
from whet.cpu import product_kernels
from whet.passes.lower_llvm.products import gemm as products
for part in products.parts("f32", "rows", "rows"):
    product_kernels.bring_part(*part)
product = partial(products.gemm, dtype="f32", a_mode="rows", b_mode="rows", dst="f32",
                  epilogue=None)
native.kernels([("product", product), ("store/7", lambda m, symbol: emit(m, symbol, 7))])
"""


def test_a_kernel_that_was_compiled_with_a_product_is_found_where_there_is_none(run):
    run(TOGETHER)
    run("from whet.cpu import gemm\ncheck(7)")


def test_threads_and_forked_children_compile_and_store(run):
    run("""
crowd = [threading.Thread(target=check, args=(a, a + 1)) for a in range(6)]
for t in crowd: t.start()
for t in crowd: t.join()
pid = os.fork()
if not pid:
    check(3, 20)
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
check(21)
""")
    assert run("check(*range(7), 20, 21); report()") == LOADED
