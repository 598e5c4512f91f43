"""Libraries for all sizes within bounds: one file, the bits of the exported function at each."""

import ctypes as C
import re
import subprocess

import numpy as np
import pytest
import whet
from whet import nn
from whet.jit import Dim
from whet.jit.export import ExportError
from whet.jit.export.library import worker
from whet.jit.export.library.level_parts import Formula

from tests.export import models, test_library
from tests.export.test_library import CALL, EXAMPLES, levels, program, same_arrays

pytestmark = test_library.pytestmark
BOUNDS = {"x": {0: Dim("batch", min=0, max=4), 1: Dim("length", min=2, max=40)}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("sizes")


@pytest.fixture(scope="module")
def rows(folder):
    """A transformer's block for two sizes that differ: (the library, what was exported)."""
    whet.manual_seed(5)
    exported = whet.export(models.Block().eval(), whet.randn(2, 5, 16), dynamic=BOUNDS)
    exported.compile(folder / "rows.so", threads=2)
    return folder / "rows.so", exported


def test_each_size_has_the_bits_of_the_exported_function(rows):
    path, exported = rows
    least = exported.sized.dims.dims[0].min
    for level in levels():
        model = CALL.Model(path, level=level, threads=2)
        assert model.sizes == [("batch", least, 4), ("length", 2, 40)]
        for batch, length in ((2, 5), (1, 2), (4, 40), (3, 17), (3, 16), (2, 2), (1, 33), (4, 7)):
            x = np.float32(whet.randn(batch, length, 16).numpy())
            for _ in range(2):
                made = model(x, sizes={"batch": batch, "length": length})
                assert same_arrays(made, exported.run([x])), (level, batch, length)
        model.close()


@pytest.mark.parametrize("fn", [
    lambda x: (x.transpose(1, 2) @ x).sum(1),
    lambda x: whet.nn.functional.interpolate(x.unsqueeze(1), scale_factor=2, mode="bilinear"),
    lambda x: whet.zeros(x.shape[0], 5).masked_fill_(x[:, :, 0] > 0, -1) + x.sum(2),
])
def test_a_batch_of_no_examples_asks_numpy_for_nothing(fn, tmp_path):
    exported = whet.export(fn, whet.randn(2, 5, 4), dynamic={"x": {0: Dim("batch", max=3)}})
    exported.compile(tmp_path / "none.so", name="none", target=["x86-64-v3"])
    model = CALL.Model(tmp_path / "none.so", prefix="none", level="x86-64-v3")
    for batch in (0, 1, 3):
        x = np.float32(whet.randn(batch, 5, 4).numpy())
        assert same_arrays(model(x, sizes={"batch": batch}), exported.run([x])), batch
    model.close()


def test_most_sizes_share_a_list(rows, tmp_path):
    _, exported = rows
    exported.save(tmp_path / "model.whet")
    (found,) = worker.programs(str(tmp_path / "model.whet"), ["avx2"], 1, str(tmp_path))
    shared = [p for p in found if p.case.symbols]
    assert shared and len(found) < 100
    words = [w for p in shared for s in p.steps for w in (s.total, s.grain, *s.arguments)]
    assert any(isinstance(w, Formula) for w in words)


def test_sizes_out_of_bounds_are_refused_with_them(rows):
    path, exported = rows
    model = CALL.Model(path)
    x = np.zeros((2, 5, 16), np.float32)
    for sizes, said in (((5, 5), "size `batch` is out of its bounds: it is from"),
                        ((2, 41), "size `length` is out of its bounds: it is from 2 to 40"),
                        ((-1, 5), "size `batch`"), ((2, 6), "input `x` has another number of")):
        with pytest.raises(ValueError, match=said):
            model(x, sizes=dict(zip(("batch", "length"), sizes)))
    assert same_arrays(model(x, sizes={"batch": 2, "length": 5}), exported.run([x]))
    missing = C.c_void_p()
    assert model.function("run")(model.context, missing, None, C.c_int64(1), None, C.c_int64(1))
    model.close()


def test_a_table_is_asked_for_no_rows(tmp_path):
    table = nn.Embedding(20, 6).eval()
    exported = whet.export(
        table, whet.randint(20, (4, 3)), dynamic={"input": {0: Dim("batch", max=5)}}
    )
    exported.compile(tmp_path / "table.so", target=["x86-64-v3"])
    model = CALL.Model(tmp_path / "table.so")
    for batch in (0, 1, 4, 5):
        x = whet.randint(20, (batch, 3)).numpy()
        assert same_arrays(model(x, sizes={"batch": batch}), exported.run([x])), batch
    with pytest.raises(ValueError, match="go another way"):
        model(np.full((2, 3), 20), sizes={"batch": 2})
    model.close()


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_of_a_table_are_summed_as_eager_sums_them(mode, tmp_path):
    bags = nn.EmbeddingBag(20, 6, mode=mode).eval()
    dims = {0: Dim("batch", max=5), 1: Dim("length", max=4)}
    exported = whet.export(bags, whet.randint(20, (4, 3)), dynamic={"input": dims})
    exported.compile(tmp_path / "bags.so", target=["x86-64-v3"])
    model = CALL.Model(tmp_path / "bags.so")
    for batch, length in ((0, 2), (1, 1), (4, 3), (5, 4)):
        x = whet.randint(20, (batch, length))
        got, = model(x.numpy(), sizes={"batch": batch, "length": length})
        assert same_arrays([got], exported.run([x.numpy()]))
        assert got.tobytes() == bags(x).detach().numpy().tobytes()
    model.close()


def test_the_header_says_which_sizes_differ(rows):
    text = rows[0].with_suffix(".h").read_text()
    assert "typedef struct {\n  int64_t batch;\n  int64_t length;\n} rows_sizes;" in text
    assert "float32[batch, length, 16], at most 10240 bytes" in text
    assert "length is from 2 to 40" in text and "const rows_sizes *sizes," in text


def test_a_program_in_c_says_the_sizes(rows, tmp_path):
    path, exported = rows
    caller = program(["cc", "gcc", "clang"], EXAMPLES / "sizes.c", path)
    for batch, length in ((3, 9), (1, 40)):
        x = np.float32(whet.randn(batch, length, 16).numpy())
        x.tofile(tmp_path / "x")
        command = [caller, tmp_path / "x", tmp_path / "y", str(batch), str(length)]
        subprocess.run(command, check=True)
        made = np.fromfile(tmp_path / "y", np.float32).reshape(x.shape)
        assert same_arrays([made], exported.run([x]))
    done = subprocess.run([caller, tmp_path / "x", tmp_path / "y", "9", "9"],
                          capture_output=True, text=True)
    assert done.returncode == 1 and "`batch` is out of its bounds" in done.stderr


# each goes another way: masks that go by sizes, views as results, places that are looked up
CASES = {
    "causal": (lambda x: (x @ x.mT) * whet.ones(x.shape[1], x.shape[1]).tril(), (2, 6, 4),
               {0: "b", 1: "n"}),
    "views": (lambda x: (x.mT, x[:, 1:] * 2, x, x.flatten(1)), (3, 4, 5), {0: "b"}),
    "means": (lambda x: (x.mean(1), x.sum(), x.softmax(1)), (5, 6), {0: "b", 1: "n"}),
    "embedding": (nn.Embedding(9, 6), None, {0: "b"}),
    "convolution": (nn.Conv2d(2, 4, 3, padding=1), (2, 2, 7, 7), {0: "b"}),
    "counts": (lambda x: (x.var((1, 2)), nn.functional.group_norm(x.mT, 1)), (3, 5, 4),
               {0: "b", 1: "n"}),
    "told": (lambda x: (x[:, x.shape[1] - 1 :], x.sum(2) + whet.arange(x.shape[1] + 1)[1:]),
             (2, 6, 3), {0: "b", 1: "n"}),
}


@pytest.mark.parametrize("name", CASES)
def test_all_sizes_of_a_function(name, folder):
    fn, shape, axes = CASES[name]
    fn = fn.eval() if isinstance(fn, nn.Module) else fn
    top = levels()[:1]
    x = whet.randn(*shape) if shape else whet.randint(9, (4, 3))
    given = "input" if isinstance(fn, nn.Module) else "x"
    dims = {k: Dim(n, min=1, max=9) for k, n in axes.items()}
    exported = whet.export(fn, x, dynamic={given: dims})
    exported.compile(folder / f"{name}.so", target=top, threads=1)
    model = CALL.Model(folder / f"{name}.so")
    for n in range(1, 10):
        sizes = {d.name: n if i == 0 else 10 - n for i, d in enumerate(exported.sized.dims.dims)}
        if any(n not in d for d, n in zip(exported.sized.dims.dims, sizes.values())):
            continue
        values = tuple(sizes.values())
        a = exported.sized.dims.resized(0, np.ascontiguousarray(x.numpy()), values)
        assert same_arrays(model(a, sizes=sizes), exported.run([a])), sizes
    model.close()


def numbered(x):
    """Python is told a size, and makes numbers of it."""
    return x * 2 + whet.arange(x.shape[1] + 1, dtype=whet.float32)[1:]


def test_sizes_that_python_was_told_share_a_list(tmp_path):
    exported = whet.export(numbered, whet.ones(3, 5), dynamic={
        "x": {0: Dim("b", min=2, max=8), 1: Dim("n", min=2, max=8)}})
    exported.save(tmp_path / "model.whet")
    (found,) = worker.programs(str(tmp_path / "model.whet"), ["avx2"], 1, str(tmp_path))
    alone = [dict(p.case.fixed) for p in found if not p.case.symbols]
    assert all(sizes[0] == sizes[1] for sizes in alone) and len(found) < 10


class Halved(nn.Module):
    """Images of any height and width, halved, and put together with what they were."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x):
        x = self.first(x)
        y = self.second(nn.functional.max_pool2d(x, 2))
        return x + nn.functional.interpolate(y, size=x.shape[2:])


def test_sizes_that_are_equal_by_chance_share_a_list(tmp_path):
    """Of the example, a height is halved to the number of channels. A batch of no images asks for
    none of the rows that it would have."""
    whet.manual_seed(1)
    exported = whet.export(Halved().eval(), whet.randn(2, 1, 8, 9), dynamic={
        "x": {0: Dim("b", max=4), 2: Dim("h", min=4, max=16), 3: Dim("w", min=4, max=16)}})
    exported.save(tmp_path / "model.whet")
    (found,) = worker.programs(str(tmp_path / "model.whet"), ["avx2"], 1, str(tmp_path))
    assert len(found) < 10
    exported.compile(tmp_path / "halved.so", target=["x86-64-v3"], threads=1)
    model = CALL.Model(tmp_path / "halved.so")
    for b, h, w in ((2, 8, 9), (4, 4, 4), (0, 7, 5), (1, 8, 16), (3, 16, 8), (2, 5, 4)):
        x = np.float32(whet.randn(b, 1, h, w).numpy())
        assert same_arrays(model(x, sizes={"b": b, "h": h, "w": w}), exported.run([x])), (b, h, w)
    model.close()


class Excited(nn.Module):
    """Few channels, and sizes that are halved: small ones are equal to channels by chance."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 4, 3, 2, 1), nn.SiLU(), nn.Conv2d(4, 6, 3, 2, 1), nn.SiLU())
        self.gate = nn.Sequential(nn.Conv2d(6, 2, 1), nn.SiLU(), nn.Conv2d(2, 6, 1), nn.Sigmoid())

    def forward(self, x):
        x = self.layers(x)
        return (x * self.gate(x.mean((2, 3), keepdim=True))).flatten(2).mean(2)


def test_narrow_bounds_whose_sizes_are_all_equal_to_others_share_lists(tmp_path):
    whet.manual_seed(2)
    exported = whet.export(Excited().eval(), whet.randn(2, 3, 9, 10), dynamic={
        "x": {0: Dim("b", min=1, max=4), 2: Dim("h", min=5, max=12), 3: Dim("w", min=5, max=12)}})
    exported.save(tmp_path / "model.whet")
    (found,) = worker.programs(str(tmp_path / "model.whet"), ["avx2"], 1, str(tmp_path))
    assert len(found) < 20
    assert all(set(expressions(x)) == x.case.parts.keys() | lookups(x) for x in found)
    exported.compile(tmp_path / "excited.so", target=["x86-64-v3"], threads=1)
    model = CALL.Model(tmp_path / "excited.so")
    for b, h, w in ((2, 9, 10), (4, 12, 12), (1, 5, 5), (3, 5, 12), (4, 7, 6), (2, 8, 8)):
        x = np.float32(whet.randn(b, 3, h, w).numpy())
        assert same_arrays(model(x, sizes={"b": b, "h": h, "w": w}), exported.run([x])), (b, h, w)
    model.close()


def lookups(program):
    """The numbers that a program looks up; arrays that go by sizes have names of their own."""
    return {name for name in program.case.lookups if not name.startswith("own")}


def expressions(program):
    """The names of the expressions that a program goes by: no others, of other lists' plans, are
    in it."""
    case = program.case
    known = {**case.parts, **dict.fromkeys(lookups(program), "")}
    text, found = repr([program.steps, program.tail, case.asked, case.shapes]), set()
    while text:
        new = {name for name in re.findall(r"\ba\d+\b", text) if name in known} - found
        found |= new
        text = " ".join(known[name] for name in new)
    return found


def test_what_has_no_bounds_is_refused(folder):
    for dims, said in (({0: "n"}, r"sizes without a largest one \(n\)"),
                       ({0: Dim("n", max=1 << 20)}, "at most 65,536: narrow .*multiple=8")):
        exported = whet.export(nn.Linear(3, 2).eval(), whet.ones(4, 3), dynamic={"input": dims})
        with pytest.raises(ExportError, match=said):
            exported.compile(folder / "no.so")
    assert not list(folder.glob("no*"))


def test_what_python_does_is_told_with_its_line(folder):
    exported = whet.export(lambda x: whet.linalg.svdvals(x), whet.ones(4, 3, 3),
                           dynamic={"x": {0: Dim("n", min=1, max=5)}})
    with pytest.raises(ExportError, match=r"no machine code.*(.|\n)*test_library_sizes.py"):
        exported.compile(folder / "no.so")


def test_too_many_sizes_of_their_own_are_refused(tmp_path, monkeypatch):
    few = ("from whet.jit.export.library import programs_within_bounds as p; p.MOST_ALONE = 0; "
           "main(")
    monkeypatch.setattr(worker, "START", worker.START.replace("main(", few))
    x = whet.ones(2, 1, 6, 6)
    exported = whet.export(
        nn.Conv2d(1, 1, 3).eval(), x, dynamic={"input": {0: Dim("n", min=1, max=9)}})
    said = r"a program of its own for each of more than 0 sizes \(sizes of 0 and 1 are constants\)"
    with pytest.raises(ExportError, match=said):
        exported.compile(tmp_path / "m.so", target="x86-64-v2")
