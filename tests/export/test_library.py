"""Libraries of exported functions: `exported.compile("model.so")`."""

import ctypes as C
import importlib.util
import platform
import subprocess
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
    return [k.name for k in targets.X86.kinds if order.index(k.target) <= most]


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
        y = whet.linalg.inv(x)
        return whet.linalg.svd(y)[1]

    exported = whet.export(both, whet.eye(3) * 2)
    with pytest.raises(ExportError) as e:
        exported.compile(folder / "no.so")
    lines = str(e.value).splitlines()[1:]
    assert len(lines) == 2 and all("test_library.py" in line for line in lines)
    assert "inv" in lines[0] and "svd" in lines[1]


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
    sized = whet.export(layer, whet.ones(4, 3), dynamic={"input": {0: whet.jit.Dim("n", max=8)}})
    with pytest.raises(ExportError, match=r"sizes that differ \(n\)"):
        sized.compile(folder / "no.so")
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
