"""Archives: the same bits after saving and loading, readable by others, and nothing believed that
is in them."""

import json
import pathlib
import subprocess
import sys
import zipfile

import pytest
import whet
from whet.jit import load_archive
from whet.jit.export import ArchiveError, ExportError, PreconditionError

from tests import fuzz_archives
from tests.export import models
from tests.export.damage import rewritten

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Each model's archive: name -> (what was exported, its arguments, the path)."""
    folder, out = tmp_path_factory.mktemp("archives"), {}
    for name, (fn, args) in models.made().items():
        out[name] = fn, args, folder / f"{name}.whet"
        whet.export(fn, *args).save(out[name][2])
    return out


@pytest.mark.parametrize("name", models.NAMES)
def test_a_loaded_function_gives_eagers_bits(saved, name):
    fn, args, path = saved[name]
    loaded = whet.load(path)
    loaded.verify()
    for given in (args, models.others(args)):
        with whet.no_grad():
            wanted = fn(*given)
        assert models.same(wanted, loaded(*given))


def test_another_process_gives_the_same_bits(saved, tmp_path):
    _, args, path = saved["convolutional"]
    whet.save(args[0], tmp_path / "x")
    code = (
        f"import whet; y = whet.load({str(path)!r})(whet.load({str(tmp_path / 'x')!r})); "
        f"whet.save(y, {str(tmp_path / 'y')!r})"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert models.same(whet.load(tmp_path / "y"), whet.load(path)(*args))


def test_a_loaded_function_tells_the_same(saved):
    fn, args, path = saved["scored"]
    a, b = whet.export(fn, *args), whet.load(path)
    assert (repr(a), str(a.graph), repr(a.preconditions)) == (
        repr(b),
        str(b.graph),
        repr(b.preconditions),
    )
    assert a.explain() == b.explain()
    with pytest.raises(PreconditionError, match="`scale` is 3.0"):
        b(*args, 3.0)
    made = b(*args)
    assert repr(made["pair"]) == f"({made['pair'].first!r}, None)" and "Scores(total=" in repr(
        made["scores"]
    )


def test_an_archive_is_saved_again_as_it_was(saved, tmp_path):
    for _, _, path in saved.values():
        whet.load(path).save(tmp_path / "again.whet")
        assert (tmp_path / "again.whet").read_bytes() == path.read_bytes()


def test_other_tools_open_an_archive(saved):
    fn, _, path = saved["convolutional"]
    with zipfile.ZipFile(path) as z:
        assert z.namelist() == [
            "whet.json",
            "graph.txt",
            "signature.json",
            "samples.safetensors",
            "weights.safetensors",
        ]
        assert z.testzip() is None
        assert z.read("graph.txt").startswith(b'graph "Sequential":')
        assert json.loads(z.read("signature.json"))["inputs"] == [
            {"name": "input", "type": "f32[2,3,8,8]"}
        ]
        weights = whet.load(z.open("weights.safetensors"))
        assert models.same(weights["0.weight"], fn.state_dict()["0.weight"])


def test_weights_lie_at_addresses_that_can_be_mapped(saved, tmp_path):
    w = whet.randn(600, 500)
    whet.export(lambda x: x @ w, whet.ones(2, 600)).save(tmp_path / "large.whet")
    loaded = whet.load(tmp_path / "large.whet")
    a = loaded.constants["w"]._array
    assert not a.flags.owndata and a.ctypes.data % 64 == 0 and not a.flags.writeable
    x = whet.randn(2, 600)
    assert models.same(loaded(x), x @ w)


def test_types_of_all_kinds_survive(tmp_path):
    kinds = [
        whet.float32,
        whet.float64,
        whet.bfloat16,
        whet.float16,
        whet.int8,
        whet.int64,
        whet.bool,
        whet.complex64,
        whet.complex128,
    ]
    held = [whet.ones(3).to(d) for d in kinds] + [whet.ones(2, 0), whet.randn(3, 4).t()]

    def both(x):
        return [t + 0 if t.dtype != whet.bool else ~t for t in held] + [x]

    e = whet.export(both, whet.ones(1))
    e.save(tmp_path / "kinds.whet")
    loaded = whet.load(tmp_path / "kinds.whet")
    for a, b in zip(e(whet.ones(1)), loaded(whet.ones(1))):
        assert a.dtype == b.dtype and bool((a == b).all())


def test_large_arrays_of_the_graph_are_kept_apart(tmp_path):
    import numpy as np

    table = np.arange(200, dtype=np.float32)
    e = whet.export(lambda x: x + whet.tensor(table.tolist()), whet.ones(200))
    e.save(tmp_path / "table.whet")
    assert models.same(whet.load(tmp_path / "table.whet")(whet.ones(200)), e(whet.ones(200)))


@pytest.mark.parametrize("name", models.CONTROL)
def test_control_flow_is_saved(name, tmp_path):
    fn, x = models.CONTROL[name], whet.ones(2, 3)
    e = whet.export(fn, x)
    e.save(tmp_path / "control.whet")
    loaded = whet.load(tmp_path / "control.whet")
    loaded.verify()
    assert (str(loaded.graph), loaded.explain()) == (str(e.graph), e.explain())
    for scale in (1.0, 0.25, 30.0, *([-1.0] if "loop" not in name else [])):
        assert models.same(fn(x * scale), loaded(x * scale))
    loaded.save(tmp_path / "again.whet")
    assert (tmp_path / "again.whet").read_bytes() == (tmp_path / "control.whet").read_bytes()


@pytest.mark.parametrize("member, old, new, said", [
    ("graph", b"true=(0, (1, 2))", b"true=(0, (2, 1))", "given values of other types"),
    ("graph", b"true=(0, (1, 2))", b"true=(9, (1, 2))", "names no body"),
    ("graph", b"true=(0, (1, 2))", b"true=(3, (1,))", "names no body"),
    ("graph", b"true=(0, (1, 2))", b"maybe=(0, (1, 2))", "other bodies than true, false"),
    ("graph", b"cond(%3, %0, %1, true=(0, (1, 2)), false=(3, (1,)))", b"mul(%0, 2)",
     "a body that no node names"),
    ("body.0", b"ways=((True, 0), (True, 1))", b"ways=((True, 1), (True, 0))", "do not give what"),
    ("body.0", b"ask=(1, (1,))", b"ask=(0, (1,))", "names no body"),
    ("body.3", b"  return", b"  write add(%0, 1.0)\n  return", "writes to an input"),
])
def test_damaged_control_flow_is_refused(tmp_path, member, old, new, said):
    whet.export(models.CONTROL["nested loop"], whet.ones(2, 3)).save(tmp_path / "nested.whet")
    seen = []

    def change(raw):
        seen.append(old in raw)
        return raw.replace(old, new, 1)

    bad = rewritten(tmp_path / "nested.whet", tmp_path / "bad.whet", **{f"{member}.txt": change})
    with pytest.raises(ArchiveError, match=said):
        load_archive(bad)
    assert seen == [True]


def test_control_flow_of_sizes_that_differ_cannot_be_saved(tmp_path):
    with pytest.raises(ExportError, match="control flow|not one graph|cannot be recorded"):
        whet.export(models.CONTROL["cond"], whet.ones(2, 3), dynamic={"x": ("n", None)}).save(
            tmp_path / "no.whet")


# ---- damage ----------------------------------------------------------------------
@pytest.mark.parametrize(
    "member, change, said",
    [
        (
            "whet",
            lambda raw: raw.replace(b'"format": 1', b'"format": 6'),
            r"whet.json: format 6 is of a newer whet \(0.1.0\); this one reads up to 5.\n  Upgrade",
        ),
        ("whet", lambda raw: b"[]", "whet.json: it tells no format"),
        (
            "graph",
            lambda raw: raw.replace(b"linear", b"linnear"),
            "graph.txt: line .*there is no op linnear",
        ),
        (
            "graph",
            lambda raw: raw.replace(b"f32[8,3,3,3]", b"f32[8,3,3,4]"),
            "graph.txt: there is no constant `0.weight`",
        ),
        ("graph", lambda raw: None, "graph.txt: it is missing"),
        (
            "weights",
            lambda raw: raw[:-1],
            "weights.safetensors: the header tells of more or fewer bytes",
        ),
        (
            "signature",
            lambda raw: raw.replace(b'"tensor": 0', b'"tensor": 9'),
            "signature.json: .*there is no array 9",
        ),
        ("samples", lambda raw: b"", "samples.safetensors: it ends within its header"),
    ],
)
def test_what_is_wrong_is_told_with_the_member(saved, tmp_path, member, change, said):
    path = rewritten(saved["convolutional"][2], tmp_path / "bad.whet", **{member: change})
    with pytest.raises(ArchiveError, match=said):
        load_archive(path)


@pytest.mark.parametrize(
    "line, said",
    [
        (
            "  %9 = random_uniform32(shape=(4,), seed=0, offset=0) : f32[4]\n",
            "does more than compute",
        ),
        ("  write add(%0, 1.0)\n", "writes to an input"),
        (
            '  ask "whet.serialization:save"{}(%0) == None\n',
            "no question about data|no module|refuses|expected",
        ),
        ("  %9 = view(%99, size=(4,)) : f32[4]\n", "reads what is not made"),
    ],
)
def test_a_graph_that_does_more_than_compute_is_refused(saved, tmp_path, line, said):
    path = rewritten(
        saved["perceptron"][2],
        tmp_path / "bad.whet",
        graph=lambda raw: raw.replace(b"  return", line.encode() + b"  return"),
    )
    with pytest.raises(ArchiveError, match=said):
        load_archive(path)


def test_a_view_outside_of_its_memory_is_refused(saved, tmp_path):
    def wider(raw):
        return raw.replace(
            b"  return",
            b"  %40 = as_strided(%0, size=(4000,), stride=(1,), storage_offset=0) : "
            b"f32[4000]\n  %41 = mul(%40, 2) : f32[4000]\n  return %41,",
            1,
        )

    path = rewritten(saved["perceptron"][2], tmp_path / "bad.whet", graph=wider)
    with pytest.raises((ArchiveError, PreconditionError)):
        load_archive(path)(whet.ones(4, 5))


def test_a_value_that_takes_too_much_memory_is_refused(saved):
    loaded = load_archive(saved["convolutional"][2], most=100)
    with pytest.raises(ArchiveError, match=r"takes [\d,]+ bytes, more than 100"):
        loaded(whet.ones(2, 3, 8, 8))


def test_no_archive_is_told_as_such(tmp_path):
    (tmp_path / "text").write_bytes(b"hello, this is a text")
    with pytest.raises(ArchiveError, match="it is no zip file"):
        load_archive(tmp_path / "text")


def test_damaged_archives_give_an_error_or_the_right_result():
    assert fuzz_archives.fuzz(1500, seed=11)[0] > 500


# ---- archives of earlier versions ------------------------------------------------
@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.whet")), ids=lambda p: p.stem)
def test_archives_of_earlier_versions_load(path):
    loaded = whet.load(path)
    loaded.verify()
    assert loaded.explain().startswith(loaded.name)


def test_there_are_golden_archives_of_this_format():
    from whet.jit.export.archive_format import FORMAT

    assert len(list(GOLDEN.glob(f"format{FORMAT}-*.whet"))) >= 4


def test_a_traced_function_takes_in_what_was_loaded(tmp_path):
    layer = whet.nn.Linear(3, 2).eval()
    whet.export(layer, whet.ones(4, 3)).save(tmp_path / "layer.whet")
    loaded = whet.load(tmp_path / "layer.whet")
    traced = whet.jit.trace(lambda x: loaded(x) * 2, strict=True)
    for _ in range(3):
        x = whet.randn(4, 3)
        assert traced(x).tolist() == (layer(x) * 2).tolist()


@pytest.mark.parametrize("name,method", (("m.onnx", "to_onnx"), ("m.so", "compile")))
def test_what_is_no_archive_is_written_by_another_method(tmp_path, name, method):
    exported = whet.export(lambda x: x * 2, whet.ones(3))
    with pytest.raises(ValueError, match=f"use {method}"):
        exported.save(tmp_path / name)
    assert not list(tmp_path.iterdir())
