"""Libraries of models of bytes have a level for processors with instructions for them."""

import pytest
import whet
from whet import nn, quantize
from whet.jit.export import ExportError
from whet.jit.export.library import targets, worker
from whet.passes.lower_llvm.targets import host_features

from tests.export.test_library import CALL, arrays, pytestmark, same_arrays  # noqa: F401

VNNI = "x86-64-v4-vnni"
has_vnni = pytest.mark.skipif("avx512_vnni" not in host_features(), reason="needs VNNI")


def small():
    """A model of bytes, and arguments for it."""
    whet.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 20, 3, padding=1), nn.ReLU(), nn.Flatten(),
                          nn.Linear(720, 9)).eval()
    data = [whet.randn(2, 3, 6, 6) for _ in range(2)]
    return quantize.static(model, data), data


@has_vnni
def test_products_of_bytes_have_a_level_of_their_own(tmp_path):
    exported, data = small()
    exported.compile(tmp_path / "model.so", target=[VNNI, "x86-64-v4"], threads=1)
    assert "vpdpbusd" in texts(exported, tmp_path)
    for level in (None, VNNI, "x86-64-v4"):
        model = CALL.Model(tmp_path / "model.so", level=level)
        for x in data:
            xs = arrays(exported, [x])
            assert same_arrays(model(*xs), exported.run(xs)), level
        model.close()


def texts(exported, folder):
    """The texts of the level's kernels."""
    exported.save(folder / "model.whet")
    ((program,),) = worker.programs(str(folder / "model.whet"), ["avx512_vnni"], 1, str(folder))
    return "\n".join(program.texts)


def test_only_graphs_of_bytes_have_it_unasked():
    names = [k.name for k in targets.chosen("host", False).kinds]
    assert VNNI not in names and "x86-64-v4" in names
    assert (VNNI in [k.name for k in targets.chosen("host", True).kinds]) == (
        "avx512_vnni" in host_features())


def test_a_level_that_cannot_be_made_here_is_refused(monkeypatch):
    monkeypatch.setattr(targets, "host_features", lambda: frozenset())
    assert VNNI not in [k.name for k in targets.chosen("host", True).kinds]
    with pytest.raises(ExportError, match="made on machines that have its instructions"):
        targets.chosen(VNNI, True)
