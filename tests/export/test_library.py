"""Libraries of exported functions: `exported.compile("model.so")`."""

import ctypes as C
import importlib.util
import platform
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import whet
from whet import nn
from whet.jit.export import ExportError
from whet.jit.export.library import linker, targets

from tests.export import models

HERE = platform.machine() == "x86_64"
EXAMPLES = Path(__file__).parents[2] / "examples" / "library"

pytestmark = pytest.mark.skipif(
    not HERE or linker.command(targets.X86, "a.o", "a.so") is None,
    reason="libraries are linked and run on x86-64 with a linker",
)


def caller():
    """The example that calls libraries from Python."""
    spec = importlib.util.spec_from_file_location("call_library", EXAMPLES / "call.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CALL = caller()


def levels():
    """The levels that this machine can run."""
    from whet.passes.lower_llvm import targets as lowered

    order = ["baseline", "avx2", "avx512"]
    most = order.index(lowered._best())
    plain = [k for k in targets.X86.kinds if k.target in order]
    return [k.name for k in plain if order.index(k.target) <= most]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the libraries of this file are."""
    return tmp_path_factory.mktemp("library")


def arrays(exported, args):
    """The arrays of a call."""
    return [np.ascontiguousarray(t.numpy()) for t in exported.signature.gather(args, {})]


def same_arrays(a, b):
    """Are two lists of arrays the same, to the bit?"""
    return len(a) == len(b) and all(
        x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()
        for x, y in zip(a, b)
    )


def compare(path, exported, args, calls=3, **given):
    """The library gives the exported function's bits: at each level, with one and two threads."""
    for level in levels():
        for threads in (1, 2):
            model = CALL.Model(path, level=level, threads=threads, **given)
            for _ in range(calls):
                xs = arrays(exported, [models.others(x) for x in args])
                assert same_arrays(model(*xs), exported.run(xs)), (level, threads)
            model.close()


@pytest.mark.parametrize("name", ["convolutional", "transformer", "recurrent", "scored"])
def test_a_library_gives_the_bits_of_the_exported_function(name, folder):
    fn, args = models.made()[name]
    exported = whet.export(fn, *args)
    path = folder / f"{name}.so"
    assert exported.compile(path) == [str(path.with_suffix(".h")), str(path)]
    compare(path, exported, args)


@pytest.fixture(scope="module")
def tied(folder):
    """A model whose indices are checked: (the library, what it was made of, its arguments)."""
    fn, args = models.made()["tied"]
    exported = whet.export(fn, *args)
    exported.compile(folder / "tied.so")
    return folder / "tied.so", exported, args


def test_data_that_go_another_way_are_an_error_with_its_line(tied):
    path, exported, args = tied
    compare(path, exported, args, calls=1)
    model = CALL.Model(path)
    (tokens,) = arrays(exported, args)
    for bad in (12, -1, 1 << 40):
        tokens[1, 1] = bad
        with pytest.raises(ValueError, match=r"go another way: .*models\.py:\d+"):
            model(tokens)
    tokens[1, 1] = 3
    assert same_arrays(model(tokens), exported.run([tokens]))


def way_of_the_sum(x):
    """Python goes on from a number of a tensor."""
    return x * 2 if x.sum() > 0 else x - 1


def test_a_branch_on_data_is_a_precondition_of_the_library(folder):
    path, x = folder / "branch.so", np.ones(3, "f4")
    whet.export(way_of_the_sum, whet.ones(3)).compile(path, target="x86-64-v2")
    model = CALL.Model(path)
    assert model(x)[0].tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match=r"go another way: .*test_library\.py:\d+"):
        model(-x)


def test_a_folder_that_is_not_there_is_told_before_anything_is_made(tmp_path):
    with pytest.raises(ExportError, match="there is no folder .*away"):
        whet.export(way_of_the_sum, whet.ones(3)).compile(tmp_path / "away" / "m.so")


def test_a_library_needs_the_c_library_alone(tied):
    path, *_ = tied
    said = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
    needed = {line.split()[0].split("/")[-1].split(".")[0] for line in said.splitlines()}
    assert needed <= {"linux-vdso", "libc", "libm", "ld-linux-x86-64"}
    names = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True)
    seen = [line.split()[-1] for line in names.stdout.splitlines()]
    assert seen and all(name.startswith("tied_") for name in seen)


def test_wrong_buffers_are_refused(tied):
    path, exported, args = tied
    model = CALL.Model(path)
    (x,), out = arrays(exported, args), np.zeros((2, 3, 12), np.float32)
    run, buffer = model.function("run"), CALL.Buffer

    def code(context=model.context, a=x.ctypes.data, size=x.nbytes, b=out.ctypes.data, n=1):
        made = buffer(b, out.nbytes) if b is not None else None
        return run(context, C.byref(buffer(a, size)), C.c_int64(n),
                   None if made is None else C.byref(made), C.c_int64(1))

    def said(number):
        return model.function("message", C.c_char_p)(number).decode()

    assert code() == 0 and out.any()
    assert said(code(context=None)) == "a pointer is null" == said(code(b=None))
    assert "input `tokens` is a null pointer" in said(code(a=None))
    assert "input `tokens` has another number of bytes; it is i64[2,3], 48" in said(code(size=47))
    assert "result `output` is a null pointer" in said(code(b=0))
    assert "`tokens` does not begin at a multiple of 8" in said(code(a=x.ctypes.data + 4))
    assert "result `output` shares memory" in said(code(b=x.ctypes.data + 16))
    assert "another number of inputs" in said(code(n=2))
    assert said(99999) == "no code of this library"
    model.close()


def test_levels_that_are_not_there_and_odd_threads_are_refused(tied):
    path, *_ = tied
    with pytest.raises(ValueError, match="no code for a level"):
        CALL.Model(path, level="x86-64-v9")
    for threads in (-1, 257):
        with pytest.raises(ValueError, match="the number of threads"):
            CALL.Model(path, threads=threads)


def test_a_model_in_use_is_not_destroyed(tied):
    path, *_ = tied
    model = CALL.Model(path)
    code = model.function("model_destroy")(model.model)
    assert "in use" in model.function("message", C.c_char_p)(code).decode()
    model.close()


def test_weights_may_lie_in_a_file_beside(folder):
    fn, args = models.made()["perceptron"]
    exported = whet.export(fn, *args)
    path = folder / "beside.so"
    made = exported.compile(path, weights="beside", target=levels()[:1])
    assert made == [str(path.with_suffix(s)) for s in (".h", ".so", ".weights")]
    beside = path.with_suffix(".weights")
    model = CALL.Model(path, weights=beside)
    xs = arrays(exported, args)
    assert same_arrays(model(*xs), exported.run(xs))
    data = beside.read_bytes()
    for damaged in (data[:-1], b"?" + data[1:], b""):
        (folder / "other.weights").write_bytes(damaged)
        with pytest.raises(ValueError, match="file of weights"):
            CALL.Model(path, weights=folder / "other.weights")
    for missing in (None, folder / "none.weights"):
        with pytest.raises(ValueError, match="file of weights"):
            CALL.Model(path, weights=missing)


def test_what_python_does_is_told_at_once_with_its_lines(folder):
    def both(x):
        y = whet.linalg.eigvalsh(x) * x
        return whet.linalg.svd(y)[1]

    exported = whet.export(both, whet.eye(3) * 2)
    with pytest.raises(ExportError) as e:
        exported.compile(folder / "no.so")
    lines = str(e.value).splitlines()[1:]
    assert len(lines) == 2 and all("test_library.py" in line for line in lines)
    assert "eigvalsh" in lines[0] and "svd" in lines[1]


def test_what_cannot_be_asked_for_is_refused(folder):
    layer = nn.Linear(3, 2).eval()
    exported = whet.export(layer, whet.ones(4, 3))
    for given, said in (
        ({"target": "x86-64-v9"}, "targets are"),
        ({"target": ["x86-64-v3", "aarch64-linux"]}, "several systems"),
        ({"weights": "elsewhere"}, "weights are"),
        ({"threads": 0}, "threads must be"),
        ({"name": "+"}, "names in C"),
    ):
        with pytest.raises(ExportError, match=said):
            exported.compile(folder / "no.so", **given)
    with pytest.raises(ExportError, match="ends neither"):
        exported.compile(folder / "model.dll")
    assert not list(folder.glob("no*"))


def test_the_command_makes_a_library(folder, capsys):
    from whet.jit.command_line import main

    layer = nn.Linear(3, 2).eval()
    exported = whet.export(layer, whet.ones(4, 3))
    exported.save(folder / "linear.whet")
    path = folder / "command.so"
    given = ["compile", str(folder / "linear.whet"), "-o", str(path), "--name", "layer"]
    assert main([*given, "--target", levels()[0], "--target", levels()[-1]]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in said] == [str(path.with_suffix(".h")), str(path)]
    compare_one(CALL.Model(path, "layer"), exported, [whet.randn(4, 3)])
    assert main([*given, "--target", "x86-64-v9"]) == 1
    assert "targets are" in capsys.readouterr().err


def compare_one(model, exported, args):
    """A call gives the exported function's bits."""
    xs = arrays(exported, args)
    assert same_arrays(model(*xs), exported.run(xs))
    model.close()


# ---- callers in other languages ------------------------------------------------------------------
@pytest.fixture(scope="module")
def digits(folder):
    """The network of the examples, as a library: (the library, the exported network, an input)."""
    whet.manual_seed(1)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10)).eval()
    exported = whet.export(model, whet.randn(64, 1, 8, 8))
    exported.compile(folder / "digits.so", threads=4)
    return folder / "digits.so", exported, np.float32(whet.randn(64, 1, 8, 8).numpy())


def program(names, source, library, *options):
    """The program that a compiler makes of a source and a library."""
    compiler = next(filter(None, map(shutil.which, names)), None)
    if compiler is None:
        pytest.skip(f"there is no {' or '.join(names)}")
    made = library.with_name(f"{source.stem}{'-'.join(options)}.program")
    here = [f"-I{library.parent}", f"-Wl,-rpath,{library.parent}", "-Wall", "-Wextra", "-Werror"]
    command = [compiler, "-O1", *here, *options, source, library, "-o", made]
    done = subprocess.run(command, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return made


def test_a_library_is_small_beside_its_weights(digits):
    path, exported, _ = digits
    assert path.stat().st_size < 1_500_000 + 3 * exported.nbytes


def test_a_program_in_c_gets_the_same_bits(digits, tmp_path):
    path, exported, x = digits
    caller = program(["cc", "gcc", "clang"], EXAMPLES / "digits.c", path)
    x.tofile(tmp_path / "x")
    for threads in "1", "3":
        subprocess.run([caller, tmp_path / "x", tmp_path / "y", "3", threads], check=True)
        made = np.fromfile(tmp_path / "y", np.float32).reshape(64, 10)
        assert same_arrays([made], exported.run([x]))
    for command in ([caller], [caller, tmp_path / "x", tmp_path / "y", "1", "-7"]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode and ("usage" in done.stderr or "number of threads" in done.stderr)


def test_threads_of_a_program_in_cpp_get_the_same_bits(digits):
    path, *_ = digits
    caller = program(["c++", "g++", "clang++"], EXAMPLES / "threads.cpp", path, "-pthread")
    done = subprocess.run([caller, "8", "50"], capture_output=True, text=True)
    assert done.returncode == 0 and "8 threads, 50 calls each on x86-64-v" in done.stdout


def test_the_caller_in_python_is_a_program_too(digits, tmp_path):
    path, exported, x = digits
    np.save(tmp_path / "x.npy", x)
    command = [sys.executable, EXAMPLES / "call.py", path, tmp_path / "x.npy"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(exported.run([x])[0])


# ---- threads -------------------------------------------------------------------------------------
def executor(log, width):
    """An executor in Python: the parts of a launch in threads of their own, the last part first."""
    part = C.CFUNCTYPE(None, C.c_void_p, C.c_int64)

    def run(_, n, todo, job):
        log.append(n)
        call = part(todo)
        threads = [threading.Thread(target=call, args=(job, i)) for i in reversed(range(n))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()

    made = (
        C.CFUNCTYPE(C.c_int64, C.c_void_p)(lambda _: width),
        C.CFUNCTYPE(None, C.c_void_p, C.c_int64, C.c_void_p, C.c_void_p)(run),
    )
    return made, CALL.Threads(0, None, *[C.cast(f, C.c_void_p) for f in made])


@pytest.mark.parametrize("width", [1, 2, 3, 8])
def test_the_callers_executor_does_the_parts(digits, width):
    path, exported, x = digits
    model, log = CALL.Model(path), []
    keep, given = executor(log, width)
    context, own = C.c_void_p(), model.context
    model.check(model.function("context_create")(C.byref(context), model.model, C.byref(given)))
    model.context = context
    for _ in range(5):
        assert same_arrays(model(x), exported.run([x]))
    assert (max(log) == min(width, 4)) if width > 1 else not log
    model.check(model.function("context_destroy")(own))
    model.close()
    assert keep


def test_half_an_executor_is_refused(digits):
    path, *_ = digits
    model = CALL.Model(path)
    (_, run), given = executor([], 2)
    given.width = None
    code = model.function("context_create")(C.byref(C.c_void_p()), model.model, C.byref(given))
    assert "an executor has both functions" in model.function("message", C.c_char_p)(code).decode()
    assert run
    model.close()


def test_contexts_come_and_go_while_others_run(digits):
    path, exported, x = digits
    model, wanted = CALL.Model(path), exported.run([x])
    wrong, stop = [], threading.Event()

    def work(threads):
        mine = CALL.Model(path, threads=threads)
        while not stop.is_set():
            if not same_arrays(mine(x), wanted):
                wrong.append(threads)
        mine.close()

    workers = [threading.Thread(target=work, args=(1 + i % 4,)) for i in range(8)]
    for t in workers:
        t.start()
    for i in range(30):
        other = CALL.Model(path, threads=1 + i % 4)
        assert same_arrays(other(x), wanted)
        other.close()
    stop.set()
    for t in workers:
        t.join()
    assert not wrong and same_arrays(model(x), wanted)
    model.close()


def test_one_context_serves_one_call_at_a_time(digits):
    path, exported, x = digits
    model = CALL.Model(path)
    said, start = [], threading.Barrier(4)

    def call():
        start.wait()
        for _ in range(200):
            try:
                said.append(same_arrays(model(x), exported.run([x])))
            except ValueError as e:
                said.append("in use" in str(e))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(said) and len(said) == 800
    model.close()


def test_a_child_of_a_fork_goes_on_without_the_threads(digits, tmp_path):
    path, exported, x = digits
    np.save(tmp_path / "x.npy", x)
    done = subprocess.run(
        [sys.executable, "-c", FORK, EXAMPLES, path, tmp_path / "x.npy"], timeout=300)
    assert done.returncode == 0


FORK = """
import os, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from call import Model
x = np.load(sys.argv[3])
model = Model(sys.argv[2], threads=3)
wanted = model(x)[0].tobytes()
child = os.fork()
same = all(model(x)[0].tobytes() == wanted for _ in range(20))
model.close()
if not child:
    os._exit(not same)
sys.exit(not same or os.waitpid(child, 0)[1])
"""


def test_calls_allocate_nothing(digits, tmp_path):
    path, exported, x = digits
    if shutil.which("cc") is None:
        pytest.skip("there is no cc")
    source = tmp_path / "count.c"
    source.write_text(COUNT)
    caller = program(["cc"], source, path)
    assert subprocess.run([caller]).returncode == 0


COUNT = """
#include <stdlib.h>
#include "digits.h"
static long taken;
extern void *__libc_malloc(size_t n);
void *malloc(size_t n) { taken++; return __libc_malloc(n); }
static float x[64 * 64], y[64 * 10];
int main(void) {
  digits_model *model;
  digits_context *context;
  digits_buffer in = {x, sizeof x}, out = {y, sizeof y};
  if (digits_model_create(&model, NULL, NULL) || digits_context_create(&context, model, NULL))
    return 2;
  long before = taken;
  for (int k = 0; k < 10; k++)
    if (digits_run(context, &in, 1, &out, 1)) return 3;
  return before < 1 || taken != before;
}
"""


def test_helgrind_finds_nothing_where_threads_call_one_model(digits):
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        pytest.skip("there is no valgrind")
    path, *_ = digits
    caller = program(["c++", "g++", "clang++"], EXAMPLES / "threads.cpp", path, "-pthread")
    command = [valgrind, "--tool=helgrind", "--error-exitcode=9", caller, "4", "2"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


# ---- object files, other systems and other linkers -----------------------------------------------
def test_two_models_are_in_one_program(folder, tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("there is no cc")
    objects = []
    for name, layer in (("first", nn.Linear(3, 2)), ("second", nn.Linear(2, 4))):
        exported = whet.export(layer.eval(), whet.ones(5, layer.in_features))
        objects.append(tmp_path / f"{name}.o")
        assert exported.compile(objects[-1], target=levels()) == [
            str(tmp_path / f"{name}.h"), str(objects[-1])]
    source = tmp_path / "both.c"
    source.write_text(BOTH)
    command = ["cc", source, *objects, "-lm", "-lpthread", "-o", tmp_path / "both"]
    subprocess.run(command, check=True)
    assert subprocess.run([tmp_path / "both"]).returncode == 0


BOTH = """
#include "first.h"
#include "second.h"
int main(void) {
  static float x[15], y[10], z[20];
  first_model *a;
  second_model *b;
  first_context *ac;
  second_context *bc;
  first_buffer in = {x, sizeof x}, between = {y, sizeof y};
  second_buffer next = {y, sizeof y}, out = {z, sizeof z};
  if (first_model_create(&a, 0, 0) || second_model_create(&b, 0, 0)) return 1;
  if (first_context_create(&ac, a, 0) || second_context_create(&bc, b, 0)) return 2;
  return first_run(ac, &in, 1, &between, 1) || second_run(bc, &next, 1, &out, 1) || z[0] == 0;
}
"""


@pytest.fixture(scope="module")
def arm(folder):
    """The object file for another system: (its path, the exported function, an input)."""
    layer = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 10), nn.Softmax(-1)).eval()
    exported = whet.export(layer, whet.randn(5, 8))
    path = folder / "arm" / "digits.o"
    path.parent.mkdir()
    exported.compile(path, target="aarch64-linux", threads=3)
    return path, exported, np.float32(whet.randn(5, 8).numpy())


def test_an_object_file_for_another_system(arm):
    path, *_ = arm
    head = path.read_bytes()[:20]
    assert head[:4] == b"\x7fELF" and head[18] == 0xB7  # EM_AARCH64


def test_code_for_another_system_gives_the_same_bits(arm, tmp_path):
    """In an emulator, with a compiler for that system."""
    path, exported, x = arm
    emulator = next(filter(None, map(shutil.which, ("qemu-aarch64-static", "qemu-aarch64"))), None)
    compiler = shutil.which("aarch64-linux-gnu-gcc")
    zig = linker.zig()
    if emulator is None or compiler is None and zig is None:
        pytest.skip("there is no emulator, or no compiler, for aarch64")
    start = [compiler] if compiler else [zig, "cc", "-target", "aarch64-linux-musl"]
    made = tmp_path / "program"
    command = [*start, "-static", f"-I{path.parent}", EXAMPLES / "digits.c", path, "-o", made]
    subprocess.run([*command, "-lm", "-lpthread"], check=True)
    x.tofile(tmp_path / "x")
    for threads in "1", "3":
        subprocess.run([emulator, made, tmp_path / "x", tmp_path / "y", "2", threads], check=True)
        found = np.fromfile(tmp_path / "y", np.float32).reshape(5, 10)
        assert same_arrays([found], exported.run([x]))


def test_an_object_file_beside_the_library_stays(tmp_path):
    exported = whet.export(nn.Linear(3, 2).eval(), whet.ones(4, 3))
    beside = tmp_path / "model.o"
    beside.write_bytes(b"of model.c")
    made = exported.compile(tmp_path / "model.so", target=levels()[-1:])
    assert made == [str(tmp_path / "model.h"), str(tmp_path / "model.so")]
    assert beside.read_bytes() == b"of model.c" and len(list(tmp_path.iterdir())) == 3


def test_without_a_linker_the_command_is_told(folder, monkeypatch):
    exported = whet.export(nn.Linear(3, 2).eval(), whet.ones(4, 3))
    for name, nothing in (("DRIVERS", ()), ("LINKERS", ()), ("zig", lambda: None)):
        monkeypatch.setattr(linker, name, nothing)
    path = folder / "unlinked.so"
    with pytest.raises(ExportError, match=r"no linker .*: cc -shared .*unlinked\.o"):
        exported.compile(path, target=levels()[-1:])
    assert path.with_suffix(".o").exists() and path.with_suffix(".h").exists()
    assert not path.exists()


@pytest.mark.parametrize("which", ["ld", "zig"])
def test_other_linkers_do(which, folder, monkeypatch):
    if (shutil.which("ld") if which == "ld" else linker.zig()) is None:
        pytest.skip(f"there is no {which}")
    monkeypatch.setattr(linker, "DRIVERS", ())
    if which == "ld":
        monkeypatch.setattr(linker, "zig", lambda: None)
    exported = whet.export(nn.Sequential(nn.Linear(3, 2), nn.Tanh()).eval(), whet.ones(4, 3))
    path = folder / f"by_{which}.so"
    exported.compile(path)
    compare(path, exported, [whet.ones(4, 3)], calls=1)
