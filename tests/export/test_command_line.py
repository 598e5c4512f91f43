"""The command `whet`: what it prints, its exit codes, and one line for an error."""

import subprocess
import sys

import numpy as np
import pytest
import whet
from whet.jit.command_line import main

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


def test_the_command_is_there_as_a_module(path):
    made = subprocess.run(
        [sys.executable, "-m", "whet.jit.command_line", "verify", str(path / "model.whet")],
        capture_output=True,
        text=True,
    )
    assert (made.returncode, made.stderr) == (0, "")
    made = subprocess.run(
        [sys.executable, "-m", "whet.jit.command_line", "dance"], capture_output=True, text=True
    )
    assert made.returncode == 2 and "invalid choice: 'dance'" in made.stderr


def test_a_model_of_one_result_gives_an_npy(path, capsys):
    fn, args = models.made()["perceptron"]
    whet.export(fn, *args).save(path / "one.whet")
    np.save(path / "in.npy", args[0].numpy())
    assert said(capsys, "run", path / "one.whet", path / "in.npy", "-o", path / "out.npy")[0] == 0
    assert models.same(whet.from_numpy(np.load(path / "out.npy")), fn(*args).detach())
