"""Kernels compiled, found and launched: argument kinds, errors, both ways of calling, batches,
code with outside symbols."""
import ctypes
import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from whet.cpu import mapped_code, native, thread_pool
from whet.passes.lower_llvm import compile, targets, vmath
from whet.passes.lower_llvm.builder import BYTES, Module, vec

needs_native = pytest.mark.skipif(not native.enabled(), reason="no native calls in this process")


def emit_scale(m, symbol):
    """args: x, y, a double; y[i] = x[i] * a"""
    f = m.kernel(symbol)
    args, begin, end, _ = f.args
    x, y, a = (f.load("ptr", args), f.load("ptr",
                                           f.at(args, 1,
                                                "i64")), f.load("double", f.at(args, 2, "i64")))
    f.loop(begin,
           end,
           1, lambda i: f.store(f.load("double", f.at(x, i, "double")) * a, f.at(y, i, "double")))


def emit_slots(m, symbol):
    """args: out, count, ...; out[i] = slot i, as i64"""
    f = m.kernel(symbol)
    args = f.args[0]
    out, count = f.load("ptr", args), f.load("i64", f.at(args, 1, "i64"))
    f.loop(0, count, 1, lambda i: f.store(f.load("i64", f.at(args, i, "i64")), f.at(out, i, "i64")))


def scale():
    return native.kernel("test/scale", emit_scale)


@pytest.fixture(params=["native", "ctypes"])
def launch(request):
    if request.param == "ctypes":
        return native._launch
    if not native.enabled():
        pytest.skip("no native calls in this process")
    return native.launch


@pytest.fixture
def threads():
    before = thread_pool.get_num_threads()
    yield thread_pool.set_num_threads
    thread_pool.set_num_threads(before)


def test_a_kernel_runs_over_all_units(launch):
    for n in (0, 1, 2, 3, 7, 64, 1000):
        x, y = np.arange(float(n)), np.full(n + 1, -1.0)
        assert launch(scale(), n, 3, x, y, 2.5) is None
        assert (y[:n] == x * 2.5).all() and y[n] == -1


def test_a_total_below_one_does_nothing(launch):
    for total in (0, -1, -2**63):
        y = np.ones(2)
        launch(scale(), total, 1, y, y, 2.0)
        assert (y == 1).all()


def test_a_grain_below_one_counts_as_one(launch):
    for grain in (0, -5, -2**63):
        x, y = np.arange(50.0), np.zeros(50)
        launch(scale(), 50, grain, x, y, 2.0)
        assert (y == 2 * x).all()


def test_what_becomes_of_each_kind_of_argument(launch):
    class Array(np.ndarray):
        pass

    class Index:
        def __index__(self):
            return -7

    data = np.arange(6.0)[::-2]
    bits = lambda v: np.float64(v).view(np.int64)
    ints = [0, -1, 5, 2**30 - 1, 2**30, -2**30, -2**31, 2**45 + 3, 2**60 - 1, 2**60, -2**60,
            2**62 + 9, 2**63 - 1, -2**63]
    given = [None, *ints, 2**64 - 1, True, 1.5, -0.0, np.float64(2.5), np.int32(-3), Index(), data,
             data.view(Array)]
    wanted = [0, *ints, -1, 1, bits(1.5), bits(-0.0), bits(2.5), -3, -7, data.ctypes.data,
              data.ctypes.data]
    out = np.zeros(len(given) + 2, np.int64)
    launch(native.kernel("test/slots", emit_slots), 1, 1, out, len(out), *given)
    assert out[0] == out.ctypes.data and out[1] == len(out) and out[2:].tolist() == wanted


@pytest.mark.parametrize("bad",
                         ["1", b"1", [1], (), 1j, np.float32(1), np.complex128(1), object(), int])
def test_other_arguments_raise_TypeError(launch, bad):
    with pytest.raises(TypeError,
                       match=r"argument 6 must be an ndarray, an int, a float or None, not <class"):
        launch(scale(), 1, 1, None, None, bad)


def test_the_first_three_arguments_are_ints(launch):
    x = np.zeros(1)
    for bad in (((x, 1, 1), ("a", 1, 1), (scale(), 1.0, 1), (scale(), 1, None),
                 (scale(), np.zeros(3), 1))):
        with pytest.raises(TypeError):
            launch(*bad)
    with pytest.raises(TypeError):
        launch(scale(), 1)
    with pytest.raises(ValueError, match="address is 0"):
        launch(0, 1, 1)


def test_integers_that_do_not_fit_raise(launch):
    for bad in (2**64, -2**63 - 1, 10**40):
        with pytest.raises(OverflowError):
            launch(scale(), 1, 1, bad)


def test_an_error_in_an_argument_is_passed_on(launch):
    class Odd:
        def __index__(self):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        launch(scale(), 1, 1, Odd())


def test_too_many_arguments_raise(launch):
    launch(scale(), 0, 1, *[0] * native.MAX_ARGS)
    with pytest.raises(TypeError, match="at most"):
        launch(scale(), 0, 1, *[0] * (native.MAX_ARGS + 1))


@needs_native
def test_launch_is_a_builtin_with_a_docstring():
    assert type(native.launch) is type(len) and "work units" in native.launch.__doc__


@needs_native
@pytest.mark.usefixtures("nothing_compiled_meanwhile")
def test_launches_leak_nothing():
    x, y, k, launch = np.arange(4.0), np.zeros(4), scale(), native.launch
    many = [1, 2**40, np.int64(3), 2.5, None]
    def run(times):
        for _ in range(times):
            launch(k, 4, 1000, x, y, 2.0, *many)
            try:
                launch(k, 4, 1, x, y, "no")
            except TypeError:
                pass
    run(100)
    gc.collect()
    counts = lambda: [
        sys.getallocatedblocks(), *(sys.getrefcount(thing)
                                    for thing in (None, x, many[2], TypeError))]
    before = counts()
    run(100_000)
    gc.collect()
    after = counts()
    assert all(abs(a - b) < 50 for a, b in zip(before, after, strict=True)), (before, after)


def test_a_kernel_is_emitted_once():
    calls = []
    def emit(m, symbol):
        calls.append(symbol)
        emit_scale(m, symbol)
    key = f"test/once/{os.urandom(8).hex()}"
    assert native.kernel(key, emit) == native.kernel(key, emit) and len(calls) == 1


def test_threads_that_want_one_kernel_get_the_same_one():
    calls, found = [], []
    def emit(m, symbol):
        calls.append(symbol)
        emit_scale(m, symbol)
    key = f"test/race/{os.urandom(8).hex()}"
    crowd = [
        threading.Thread(target=lambda: found.append(native.kernel(key, emit))) for _ in range(8)]
    for t in crowd: t.start()
    for t in crowd: t.join()
    assert len(calls) == 1 and len(set(found)) == 1 and len(found) == 8


def test_a_batch_is_compiled_together_and_found_apart():
    tag = os.urandom(8).hex()
    def emit(m, symbol, a):
        f = m.kernel(symbol)
        f.store(f.as_val(a, "i64"), f.load("ptr", f.args[0]))
    wanted = [(f"test/{tag}/{a}", lambda m, symbol, a=a: emit(m, symbol, a)) for a in (3, 5, 7, 3)]
    found = native.kernels(wanted)
    assert found[0] == found[3] and len(set(found)) == 3
    def never(m, symbol):
        raise AssertionError("compiled again")
    for (key, _), address, value in zip(wanted, found, (3, 5, 7, 3), strict=True):
        out = np.zeros(1, np.int64)
        native.launch(native.kernel(key, never), 1, 1, out)
        assert out[0] == value and native.kernel(key, never) == address
    assert native.kernels([]) == []


def test_a_failed_emit_leaves_nothing_behind():
    key = f"test/failed/{os.urandom(8).hex()}"
    def bad(m, symbol):
        m.kernel(symbol).raw("this is no IR")
    with pytest.raises(RuntimeError) as error:
        native.kernel(key, bad)
    assert key in error.value.__notes__[0]
    x, y = np.ones(1), np.zeros(1)
    native.launch(native.kernel(key, emit_scale), 1, 1, x, y, 3.0)
    assert y[0] == 3


def test_build_gives_the_address_of_every_name():
    text = (
        "define i64 @one() {\n ret i64 1\n}\ndefine i64 @two() {\n %x = call i64 @one()\n %y = "
        "add i64 %x, %x\n ret i64 %y\n}\n")
    at = native.build(text, ["one", "two"])
    assert [ctypes.CFUNCTYPE(ctypes.c_int64)(at[name])() for name in ("one", "two")] == [1, 2]
    assert native.build(text, ["two"])["two"]


OUTSIDE = """
@PyExc_KeyError = external global ptr
declare ptr @PyLong_FromLong(i64)
declare ptr @memset(ptr, i32, i64)
declare void @PyErr_SetNone(ptr)
@word = internal constant i64 42
define ptr @answer(ptr %self, ptr %args, i64 %n) {
  %none = icmp eq i64 %n, 0
  br i1 %none, label %fail, label %go
fail:
  %e = load ptr, ptr @PyExc_KeyError
  call void @PyErr_SetNone(ptr %e)
  ret ptr null
go:
  %b = alloca i64
  %x = call ptr @memset(ptr %b, i32 0, i64 8)
  %v = load i64, ptr %b
  %w = load i64, ptr @word
  %s = add i64 %v, %w
  %r = call ptr @PyLong_FromLong(i64 %s)
  ret ptr %r
}
"""


@needs_native
@pytest.mark.parametrize("loader", ["flat", "llvm"])
def test_code_may_name_functions_and_objects_of_the_process(loader, monkeypatch):
    if loader == "llvm":
        monkeypatch.setattr(mapped_code, "flatten", lambda obj: None)
    at = native.image(f"test/outside/{os.urandom(8).hex()}", lambda: OUTSIDE, ["answer"])
    answer = native.function(at["answer"], "answer", "What else.")
    assert answer(1) == 42 and answer.__doc__ == "What else."
    with pytest.raises(KeyError):
        answer()


def test_kernels_run_where_images_cannot_be_made(monkeypatch, launch):
    monkeypatch.setattr(mapped_code, "flatten", lambda obj: None)
    k = native.kernel(f"test/object/{os.urandom(8).hex()}", emit_scale)
    x, y = np.arange(5.0), np.zeros(5)
    launch(k, 5, 1, x, y, 2.0)
    assert (y == 2 * x).all()


@pytest.mark.skipif(not mapped_code.SUPPORTED, reason="no images on this machine")
def test_a_name_that_does_not_exist_is_an_error_not_a_crash():
    text = (
        "declare i64 @whet_no_such_thing()\ndefine i64 @f() {\n %x = call i64 "
        "@whet_no_such_thing()\n ret i64 %x\n}\n")
    with pytest.raises(RuntimeError, match="whet_no_such_thing"):
        native.build(text, ["f"])
    with pytest.raises(LookupError):
        native.symbol("no_such_thing")


@pytest.mark.skipif(not mapped_code.SUPPORTED, reason="no images on this machine")
def test_writable_data_is_left_to_llvm():
    obj = compile.object_code("@x = global i64 5\ndefine ptr @f() {\n ret ptr @x\n}\n")
    assert mapped_code.flatten(obj) is None
    assert mapped_code.flatten(b"\x7fELF junk" + bytes(100)) is None


@pytest.mark.skipif(not mapped_code.SUPPORTED, reason="no images on this machine")
def test_code_is_never_writable():
    places = [scale(), *([native.symbol("pool_run")] if native.enabled() else [])]
    with open("/proc/self/maps") as maps:
        rows = [
            (line.split("-")[0], line.split("-")[1].split()[0], line.split()[1]) for line in maps]
    for place in places:
        assert ([mode for begin, end, mode in rows
                 if int(begin, 16) <= place < int(end, 16)] == ["r-xp"])


# Conversions that code generation leaves to functions where the machine has no instruction

KINDS = {"half": np.uint16, "bfloat": np.uint16, "float": np.uint32, "double": np.uint64}


def convert(op, of, to, x):
    """Bits of x (as unsigned integers) converted by our own function."""
    name = {"half": "hf", "bfloat": "bf", "float": "sf", "double": "df"}
    function = f"__{op}{name[of]}{name[to]}2"
    text = f"""
    declare {to} @{function}({of})
    define void @convert(ptr %args, i64 %b, i64 %e, i64 %w) {{
    entry:
      %x = load ptr, ptr %args
      %yp = getelementptr ptr, ptr %args, i64 1
      %y = load ptr, ptr %yp
      br label %l
    l:
      %i = phi i64 [%b, %entry], [%i1, %l]
      %p = getelementptr {of}, ptr %x, i64 %i
      %q = getelementptr {to}, ptr %y, i64 %i
      %v = load {of}, ptr %p
      %r = call {to} @{function}({of} %v)
      store {to} %r, ptr %q
      %i1 = add i64 %i, 1
      %more = icmp slt i64 %i1, %e
      br i1 %more, label %l, label %d
    d:
      ret void
    }}"""
    y = np.zeros(len(x), KINDS[to])
    native.launch(
        native.build(text, ["convert"])["convert"], len(x), 1 << 40, np.ascontiguousarray(x), y)
    return y


def test_a_half_widens_exactly():
    x = np.arange(1 << 16, dtype=np.uint16)
    y, wanted = (convert("extend", "half", "float",
                         x).view(np.float32), x.view(np.float16).astype(np.float32))
    nan = np.isnan(wanted)
    assert ((y.view(np.uint32)[~nan] == wanted.view(np.uint32)[~nan]).all()
            and np.isnan(y[nan]).all())


@pytest.mark.parametrize("of, dtype", [("float", np.float32), ("double", np.float64)])
@pytest.mark.parametrize("to", ["half", "bfloat"])
def test_narrowing_rounds_once_to_nearest_even(of, dtype, to):
    # Every finite value of the narrow type, the middle between each two, and what lies just beside
    # both.
    narrow = np.arange(0x7C00 if to == "half" else 0x7F80, dtype=np.uint16)
    exact = (narrow.view(np.float16) if to == "half" else
             (narrow.astype(np.uint32) << 16).view(np.float32)).astype(np.float64)
    largest = exact[-1] + (exact[-1] - exact[-2])
    middle = (exact + np.append(exact[1:], largest)) / 2
    points, wanted = [], []
    after = (narrow + 1).astype(np.uint16)
    for x, low, at, high in (((exact, narrow, narrow, narrow),
                              (middle, narrow, np.where(narrow % 2 == 0, narrow, after), after))):
        x = x.astype(dtype)
        below, above = np.nextafter(x, dtype(-1)), np.nextafter(x, dtype(np.inf))
        points += [below[1:], x, above]
        wanted += [low[1:], at, high]
    extra = np.array([np.inf, np.finfo(dtype).max, np.nan, np.finfo(dtype).tiny,
                      np.finfo(dtype).smallest_subnormal], dtype)
    top = 0x7C00 if to == "half" else 0x7F80
    x = np.concatenate(points)
    y = np.concatenate(wanted)
    keep = x >= 0
    x, y = x[keep], y[keep]
    bits = np.uint32 if of == "float" else np.uint64
    assert (convert("trunc", of, to, x.view(bits)) == y).all()
    assert (convert("trunc", of, to, (-x).view(bits)) == (y | 0x8000)).all()
    special = convert("trunc", of, to, extra.view(bits))
    assert special[0] == special[1] == top and special[2] & 0x7FFF > top and special[4] == 0


@needs_native
def test_the_gil_is_released_around_long_work(threads):
    threads(1)
    text = """
    define void @wait(ptr %args, i64 %b, i64 %e, i64 %w) {
    entry:
      %p = load ptr, ptr %args
      br label %l
    l:
      %i = phi i64 [0, %entry], [%i1, %n]
      %v = load volatile i64, ptr %p
      %set = icmp ne i64 %v, 0
      br i1 %set, label %d, label %n
    n:
      %i1 = add i64 %i, 1
      %more = icmp ult i64 %i1, 20000000000
      br i1 %more, label %l, label %d
    d:
      %q = getelementptr i64, ptr %p, i64 1
      %r = load volatile i64, ptr %p
      store volatile i64 %r, ptr %q
      ret void
    }"""
    k, flag = native.build(text, ["wait"])["wait"], np.zeros(2, np.int64)
    other = threading.Timer(0.05, lambda: flag.__setitem__(0, 9))
    other.start()
    native.launch(k, 5, 1, flag)
    assert flag[1] == 9
    other.join()


PROGRAM = """
import numpy as np, sys
from whet.cpu import memory, native, thread_pool
from test_native import emit_scale
x, y = np.random.default_rng(0).standard_normal(10001), memory.empty((10001,), np.dtype("f8"))
native.launch(native.kernel("test/scale", emit_scale), 10001, 100, x, y, 1 / 3)
assert native.enabled() == (sys.argv[1] == "1") and (type(native.launch) is type(len)) == native.enabled()
thread_pool.set_num_threads(3); assert thread_pool.get_num_threads() == 3
print(y.tobytes().hex())
"""


def test_without_native_calls_the_results_are_the_same():
    outputs = []
    for native_calls in ("1", "0") if native.enabled() else ("0",):
        env = {
            **os.environ, "WHET_NATIVE": native_calls,
            "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
        done = subprocess.run([sys.executable, "-c", PROGRAM, native_calls], env=env,
                              capture_output=True, text=True, check=True)
        outputs.append(done.stdout)
    assert len(set(outputs)) == 1 and len(outputs[0]) == 10001 * 16 + 1


BROKEN = """
import warnings
import numpy as np
from whet.cpu import memory, native
def fail(): raise OSError("no executable memory")
native._load_runtime, native._runtime, native._status = fail, None, "not loaded yet"           # the package itself has loaded it: as if it had not
vars(native).pop("launch", None)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    launch = native.launch
from test_native import emit_scale
x, y = np.arange(5.0), memory.empty((5,), np.dtype("f8"))
launch(native.kernel("test/scale", emit_scale), 5, 1, x, y, 2.0)
assert (y == 2 * x).all() and not native.enabled() and len(seen) == 1 and "no executable memory" in str(seen[0].message)
print(native.status())
"""


@needs_native
def test_a_runtime_that_cannot_be_loaded_is_done_without():
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
    done = subprocess.run([sys.executable, "-c", BROKEN], env=env, capture_output=True, text=True)
    assert (done.returncode == 0
            and done.stdout == "off: OSError: no executable memory\n"), done.stderr


@pytest.mark.parametrize("cpu", ["", "avx2"])
@pytest.mark.parametrize("elem, lanes",
                         [("float", 8), ("float", 16), ("double", 4), ("double", 2), ("i8", 32),
                          ("i16", 8), ("i64", 4)])
def test_lanes_that_are_not_stored_keep_what_is_there(elem, lanes, cpu, monkeypatch):
    """Under the mask of the first lanes, and under any other; where the machine has narrower
    vectors, by these too."""
    if cpu and targets.current().name not in ("avx512", "avx2"):
        pytest.skip("needs AVX2")
    monkeypatch.setenv("WHET_CPU", cpu)
    targets.current.cache_clear()
    try:
        m = Module()
        for name in ("first", "any"):
            f = m.kernel(name)
            args, n, bits, _ = f.args
            x, y = f.load("ptr", args), f.load("ptr", f.at(args, 1, "i64"))
            mask = (f.lanes_below(n, lanes) if name == "first" else f.bitcast(
                f.conv("trunc", bits, f"i{lanes}"), vec("i1", lanes)))
            f.put(mask, (f.load(vec(elem, lanes), x), y))
        at = native.build(m.text(), ["first", "any"])
    finally:
        monkeypatch.undo()
        targets.current.cache_clear()
    one = np.dtype(f"u{BYTES[elem]}")
    x = np.random.default_rng(0).integers(1, 100, lanes + 2).astype(one)
    call = {
        name: ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] + [ctypes.c_int64] * 3)(at[name])
        for name in at}
    given = [
        ("first", n, 0, [i < n for i in range(lanes)]) for n in (*range(-1, lanes + 2), 1 << 40)]
    given += [("any", 0, b, [b >> i & 1 > 0 for i in range(lanes)])
              for b in (0, 1, 5, (1 << lanes) - 2, (1 << lanes) - 1)]
    for name, n, bits, stored in given:
        y = np.zeros(lanes + 2, one)
        slots = np.array([x.ctypes.data, y.ctypes.data], np.int64)
        call[name](slots.ctypes.data, n, bits, 0)
        assert y.tolist() == [*np.where(stored, x[:lanes], 0), 0, 0], (name, n, bits)


@pytest.mark.skipif(not mapped_code.SUPPORTED, reason="no flat images here")
@pytest.mark.parametrize("cpu", ["", "avx2"])
@pytest.mark.parametrize("elem", ["float", "double"])
def test_heavy_kernels_are_loaded_without_llvm(elem, cpu, monkeypatch):
    """Also where constants lie in memory for the sake of registers."""
    if cpu and targets.current().name not in ("avx512", "avx2"):
        pytest.skip("needs AVX2")
    monkeypatch.setenv("WHET_CPU", cpu)
    targets.current.cache_clear()
    try:
        m, lanes = Module(), targets.current().lanes(BYTES[elem])
        f = m.kernel("kernel")
        p = f.load("ptr", f.args[0])
        f.store(vmath.FUNCTIONS["tanh"](f, f.load(vec(elem, lanes), p)), p)
        image = mapped_code.flatten(compile.object_code(m.text()))
    finally:
        monkeypatch.undo()
        targets.current.cache_clear()
    assert image is not None and "kernel" in image.names
