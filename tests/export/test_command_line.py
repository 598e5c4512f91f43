"""The command `whet`: what it prints, its exit codes, and one line for an error."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
import whet
from whet import nn
from whet.jit.command_line import doctor, main

from tests.export import models


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """An archive of two inputs and two results."""
    folder = tmp_path_factory.mktemp("command")

    def both(x, y):
        return {"sum": x + y, "product": x * y}

    whet.export(both, whet.arange(3.0), whet.ones(3)).save(folder / "model.whet")
    np.save(folder / "x.npy", np.arange(3, dtype=np.float32))
    np.save(folder / "y.npy", np.full(3, 2, np.float32))
    np.savez(folder / "both.npz", x=np.arange(3, dtype=np.float32), y=np.full(3, 2, np.float32))
    np.save(folder / "wide.npy", np.arange(3.0))
    return folder


def said(capsys, *argv):
    """(exit code, output, errors) of a command."""
    code = main([str(x) for x in argv])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_info_says_what_is_in_an_archive(path, capsys):
    code, out, _ = said(capsys, "info", path / "model.whet", "--graph")
    assert code == 0
    for part in (
        "both: ",
        "made by whet 0.1.0",
        "x: f32[3]",
        "product: f32[3]",
        "rewrites: none",
        "graph: 2 nodes",
        "%2 = add(%0, %1)",
    ):
        assert part in out


def test_run_takes_npy_and_npz_files(path, capsys):
    model, out = path / "model.whet", path / "out.npz"
    for inputs in (
        [path / "x.npy", path / "y.npy"],
        [path / "both.npz"],
        [f"y={path / 'y.npy'}", f"x={path / 'x.npy'}"],
    ):
        assert said(capsys, "run", model, *inputs, "-o", out)[0] == 0
        with np.load(out) as z:
            assert z["sum"].tolist() == [2, 3, 4] and z["product"].tolist() == [0, 2, 4]
    assert "sum:\n[2. 3. 4.]" in said(capsys, "run", model, path / "both.npz")[1]


@pytest.mark.parametrize(
    "argv, error",
    [
        (["run", "model.whet", "x.npy"], "input `y` is missing; the model takes x, y"),
        (["run", "model.whet", "x.npy", "y.npy", "x.npy"], "the model has only 2 inputs"),
        (
            ["run", "model.whet", "x.npy", "wide.npy"],
            "input `y` is f32[3], but the file has float64[3]",
        ),
        (["run", "model.whet", "both.npz", "-o", "out.txt"], "the output is an .npz"),
        (["info", "missing.whet"], "No such file"),
        (["verify", "x.npy"], "x.npy"),
        (["bench", "model.whet", "--calls", "0"], "--calls is at least 1"),
        (["view", "model.whet", "-o", "page.txt"], "ends in .html"),
    ],
)
def test_an_error_is_one_line(path, capsys, monkeypatch, argv, error):
    monkeypatch.chdir(path)
    code, _, err = said(capsys, *argv)
    assert (
        code == 1 and err.startswith(f"whet {argv[0]}: ") and error in err and err.count("\n") == 1
    )


def test_verify_bench_view_and_doctor(path, capsys):
    assert said(capsys, "verify", path / "model.whet")[:2] == (
        0,
        "both: the sample gives the same bits, 2 results\n",
    )
    code, out, _ = said(capsys, "bench", path / "model.whet", "--calls", "3")
    assert code == 0 and "whet" in out and "median" in out
    assert (
        said(capsys, "view", path / "model.whet", "-o", path / "page.html")[1]
        .strip()
        .endswith("page.html")
    )
    assert "As exported" in (path / "page.html").read_text()
    code, out, _ = said(capsys, "doctor")
    assert code in (0, 1) and "versions" in out and "cache" in out and "kernels" in out


def test_doctor_takes_files_that_vanish_while_it_counts(capsys, tmp_path, monkeypatch):
    """Other processes write to the cache: a name is listed, and a moment later renamed."""
    (tmp_path / "stays").write_bytes(b"123")
    monkeypatch.setattr(doctor, "root", lambda: str(tmp_path))
    monkeypatch.setattr(doctor.os, "walk", lambda at: [(at, [], ["renamed by now", "stays"])])
    code, out, errors = said(capsys, "doctor")
    assert code in (0, 1) and "1 files, 3 bytes" in out and not errors


@pytest.mark.parametrize("module", ("whet", "whet.jit.command_line"))
def test_the_command_is_there_as_a_module(module, path):
    made = subprocess.run(
        [sys.executable, "-m", module, "verify", str(path / "model.whet")],
        capture_output=True,
        text=True,
    )
    assert (made.returncode, made.stderr) == (0, "")
    made = subprocess.run(
        [sys.executable, "-m", module, "dance"], capture_output=True, text=True
    )
    assert made.returncode == 2 and "invalid choice: 'dance'" in made.stderr


def test_a_model_of_one_result_gives_an_npy(path, capsys):
    fn, args = models.made()["perceptron"]
    whet.export(fn, *args).save(path / "one.whet")
    np.save(path / "in.npy", args[0].numpy())
    assert said(capsys, "run", path / "one.whet", path / "in.npy", "-o", path / "out.npy")[0] == 0
    assert models.same(whet.from_numpy(np.load(path / "out.npy")), fn(*args).detach())


NETWORK = """
<ir_version: 9, opset_import: ["" : 18]>
net (float[n, 4] x) => (float[n, 3] y)
<float[3, 4] w = {0.1, 0.2, 0.3, 0.4, 0.5, -0.6, 0.7, 0.8, 0.9, 1, -0.1, 0.2}>
{ y = Gemm <transB = 1> (x, w) }
"""


@pytest.fixture(scope="module")
def network(path):
    """An ONNX file whose batches differ, and a Python module with a function and a module."""
    onnx = pytest.importorskip("onnx")
    onnx.save(onnx.parser.parse_model(NETWORK), path / "net.onnx")
    np.save(path / "rows.npy", np.random.default_rng(1).normal(size=(6, 4)).astype("f4"))
    (path / "written_by_user.py").write_text(
        "import whet\nlayer = whet.nn.Sequential(whet.nn.Linear(4, 3), whet.nn.Dropout())\n"
        "def double(x):\n    return x * 2\n"
    )
    return path


def test_onnx_files_are_looked_at_run_and_checked(network, capsys, monkeypatch):
    monkeypatch.chdir(network)
    assert "x: f32[n,4]" in said(capsys, "info", "net.onnx")[1]
    code, out, _ = said(capsys, "run", "net.onnx", "rows.npy")
    assert code == 0 and out.count("[") == 7
    assert said(capsys, "verify", "net.onnx")[0] == said(capsys, "bench", "net.onnx")[0] == 0
    assert said(capsys, "view", "net.onnx", "-o", "net.html")[0] == 0


def test_export_writes_one_kind_of_file_as_another(network, capsys, monkeypatch):
    monkeypatch.chdir(network)
    code, out, _ = said(capsys, "export", "net.onnx", "-o", "net.whet")
    assert code == 0 and "x: f32[n,4]" in out and "net.whet: " in out
    assert whet.load("net.whet")(whet.ones(2, 4)).shape == (2, 3)
    assert said(capsys, "run", "net.whet", "rows.npy", "-o", "y.npy")[0] == 0
    assert np.load("y.npy").shape == (6, 3)
    assert said(capsys, "export", "net.whet", "-o", "again.onnx")[0] == 0
    named = "written_by_user:layer", "rows.npy", "--dynamic", "input:0=batch:64"
    code, out, _ = said(capsys, "export", *named, "-o", "layer.whet")
    assert code == 0 and "input: f32[batch,4]" in out
    assert said(capsys, "export", "written_by_user:double", "rows.npy", "-o", "d.whet")[0] == 0


def test_quantize_writes_layers_of_bytes(network, capsys, monkeypatch):
    monkeypatch.chdir(network)
    code, out, _ = said(capsys, "quantize", "net.onnx", "rows.npy", "-o", "small.whet")
    assert code == 0 and "linear" in out and "small.whet: " in out
    rows = whet.from_numpy(np.load("rows.npy"))
    wanted = whet.onnx.load("net.onnx")(rows)
    assert (whet.load("small.whet")(rows) - wanted).abs().max() < 0.05 * wanted.abs().max()


@pytest.mark.parametrize("argv, error", [
    (["export", "written_by_user:none", "-o", "a.whet"], "written_by_user has no none"),
    (["export", "no_such_module:f", "-o", "a.whet"], "No module named 'no_such_module'"),
    (["export", "net.onnx", "-o", "a.txt"], "the output ends in .whet, .onnx, .so or .o"),
    (["export", "net.onnx", "--dynamic", "x0=n", "-o", "a.whet"], "expected x:0=batch"),
    (["export", "model.whet", "x.npy", "-o", "a.whet"], "model.whet is exported already"),
    (["quantize", "model.whet", "-o", "a.whet"], "nothing in"),
    (["quantize", "model.whet", "both.npz", "-o", "a.whet"], "no layer became one of bytes"),
    (["run", "net.onnx", "wide.npy"], "input `x` is f32[n,4], but the file has float64[3]"),
])
def test_errors_of_exports_are_one_line(network, capsys, monkeypatch, argv, error):
    monkeypatch.chdir(network)
    code, _, err = said(capsys, *argv)
    assert code == 1 and err.startswith(f"whet {argv[0]}: ") and error in err
    assert err.count("\n") == 1


def test_an_error_of_many_things_lists_them(path, capsys):
    both = whet.export(lambda x: whet.linalg.eigvalsh(x) + whet.linalg.svdvals(x), whet.eye(8))
    both.save(path / "waves.whet")
    code, _, err = said(capsys, "compile", path / "waves.whet", "-o", path / "waves.so")
    assert code == 1 and "whet compile: " in err
    for op in ("eigvalsh", "svd"):
        assert f"\n  {op}" in err and "from test_command_line.py" in err


# ---- models of strangers -------------------------------------------------------------------------
class Words(nn.Module):
    """Words of a batch, in a dataclass, are looked up; a mask leaves some out."""

    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(9, 8), nn.Linear(8, 4)

    def forward(self, batch, scale=None):
        h = self.out(self.table(batch.ids)) * batch.mask[..., None]
        return h if scale is None else h * scale


@dataclasses.dataclass
class Batch:
    ids: whet.Tensor
    mask: whet.Tensor


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """A folder with the archive, the ONNX file and a call of such a model."""
    folder = tmp_path_factory.mktemp("words")
    batch = Batch(whet.randint(9, (3, 5)), whet.rand(3, 5))
    dynamic = {"batch.ids": ("n", None), "batch.mask": ("n", None)}
    e = whet.export(Words().eval(), batch, scale=whet.full((4,), 2.0), dynamic=dynamic)
    e.save(folder / "words.whet")
    np.savez(folder / "call.npz", **{
        "batch.ids": batch.ids.numpy(), "batch.mask": batch.mask.numpy(),
        "scale": np.full(4, 2, np.float32)})
    return folder, e


def test_a_model_of_nested_arguments_and_an_embedding_is_quantised(words, capsys):
    folder, e = words
    made = folder / "bytes.whet"
    assert said(capsys, "quantize", folder / "words.whet", folder / "call.npz", "-o", made)[0] == 0
    small = whet.load(made)
    assert [v.name for v in small.inputs] == ["batch.ids", "batch.mask", "scale"]
    arrays = e.samples.inputs
    np.testing.assert_allclose(small.run(arrays)[0], e.run(arrays)[0], atol=0.1)


def test_an_onnx_file_whose_inputs_have_no_names_in_python_leaves_its_sizes_open(words, capsys):
    pytest.importorskip("onnx")
    folder, e = words
    e.to_onnx(folder / "words.onnx")
    code, out, _ = said(capsys, "info", folder / "words.onnx")
    assert code == 0 and "args.0: i64[n,5]" in out


def test_an_onnx_file_that_takes_multiples_alone_is_looked_at(tmp_path, capsys):
    pytest.importorskip("onnx")

    def in_fours(x):
        return x.unflatten(2, (-1, 4)).sum(3)

    dynamic = {"x": {0: whet.jit.Dim("n"), 2: whet.jit.Dim("h", multiple=4)}}
    whet.export(in_fours, whet.randn(2, 1, 8), dynamic=dynamic).to_onnx(tmp_path / "fours.onnx")
    assert said(capsys, "info", tmp_path / "fours.onnx")[0] == 0


def test_run_takes_16_bit_floats_of_files(tmp_path, capsys):
    x = whet.ones(3, dtype=whet.bfloat16)
    whet.export(lambda x: x * 2, x).save(tmp_path / "two.whet")
    first, second = tmp_path / "x.npz", tmp_path / "y.npz"
    np.savez(first, x=x._array)
    for inputs, output in ((first, second), (second, None)):
        if output is None:
            with np.load(second) as z:
                np.savez(second, x=z["output"])
        options = ["-o", output] if output else []
        code, out, _ = said(capsys, "run", tmp_path / "two.whet", inputs, *options)
        assert code == 0
    assert "4" in out
