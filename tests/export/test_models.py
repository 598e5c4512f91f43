"""A few models of the table: eager mode, traces, archives, ONNX files and libraries agree."""

import pytest
import whet
from whet import quantize

from tests.export import called_from_c, onnx_runtime, test_library
from tests.export import table_of_models as table
from tests.export.zoo import FEW, MODELS

OF_BYTES = "lenet", "lstm", "gpt"  # convolutional, recurrent, of attention


@pytest.fixture(scope="module")
def trials(tmp_path_factory):
    """What gives the trial of a model, made once."""
    made = {}

    def trial(name, runtime=None):
        if name not in made:
            made[name] = table.Trial(MODELS[name], str(tmp_path_factory.mktemp(name)))
        made[name].runtime = runtime
        return made[name]

    return trial


@pytest.fixture(scope="module")
def runtime():
    if not onnx_runtime.Runtime.is_there():
        pytest.skip("ONNX Runtime is not there: make peers")
    found = onnx_runtime.Runtime()
    yield found
    found.close()


@pytest.mark.parametrize("name", FEW)
def test_traces_and_archives_give_eagers_bits_at_each_batch(trials, name):
    t = trials(name)
    assert (t.each(t.traced), t.each(t.archive)) == (table.SAME, table.SAME)


@pytest.mark.parametrize("name", FEW)
def test_onnx_runtime_gives_the_same_within_its_rounding(trials, runtime, name):
    pytest.importorskip("onnx")
    assert trials(name, runtime).onnx().startswith("within")


@test_library.pytestmark
@pytest.mark.parametrize("name", FEW)
def test_a_library_that_c_calls_gives_eagers_bits_at_each_batch(trials, name):
    t = trials(name)
    assert t.each(t.library) == table.SAME


@test_library.pytestmark
@pytest.mark.parametrize("name", OF_BYTES)
def test_a_library_of_bytes_that_c_calls_gives_the_same_bits(name, tmp_path):
    if called_from_c.compiler() is None:
        pytest.skip("there is no compiler of C")
    entry, path = MODELS[name], str(tmp_path / "model.so")
    given = entry.inputs(2)
    exported = quantize.static(entry.module(), [given])
    assert any(t.dtype is whet.int8 for t in exported.constants.values())
    exported.compile(path, threads=1, target=table.best_level())
    arrays = [t.numpy() for t in given]
    made = called_from_c.Program(path, 0)(*arrays)
    assert test_library.same_arrays(made, exported.run(arrays))


def test_a_difference_is_seen(trials):
    t = trials("vae")
    assert t.each(lambda: lambda x: [y * (1 + 1e-6) for y in t.exported(x)]) == "other bits at 1"
    assert "of other data" in t.each(lambda: other_data)
    wanted = whet.ones(3)
    assert table.difference(wanted.numpy() * 2, wanted) == 1.0


def other_data(*given):
    raise ValueError("of other data")
