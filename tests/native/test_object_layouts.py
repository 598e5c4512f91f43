"""Where objects keep what machine code reads: wrong offsets are found, and whet works without."""

import subprocess
import sys

import pytest
from whet.cpu import native, object_layouts
from whet.passes.lower_llvm.calls import python_layouts as L

needs_native = pytest.mark.skipif(not native.enabled(), reason="no native calls in this process")
PROOFS = object_layouts.NEEDED + object_layouts.HELPFUL
# of dictionaries the version is proved where it is used: an interpreter need not have it
OFFSETS = [
    name
    for name, at in vars(L).items()
    if type(at) is int and name not in ("DICT_VERSION", "OBJECT_SLOT", "OBJECT_MEMBER")
]


@needs_native
def test_this_interpreter_is_as_stated():
    assert object_layouts.unproved(PROOFS) == []


@needs_native
@pytest.mark.parametrize("name", OFFSETS)
def test_a_wrong_offset_is_found(name, monkeypatch):
    monkeypatch.setattr(L, name, getattr(L, name) - 8)
    assert object_layouts.unproved(PROOFS)


@needs_native
@pytest.mark.parametrize("field", L.ARRAY)
def test_a_wrong_offset_of_arrays_is_found(field, monkeypatch):
    monkeypatch.setitem(L.ARRAY, field, L.ARRAY[field] - 8)
    assert object_layouts.unproved(PROOFS) == ["arrays"]


def test_a_word_that_is_no_address_is_not_followed():
    assert [object_layouts.words_behind(x, 1) for x in (0, 3, 8, 2**62, 2**64 - 8)] == [None] * 5


# A module of declarations is loaded with one that is wrong.
PROGRAM = """
import importlib.machinery, sys, warnings
module, change = sys.argv[1:]

class Falsified(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != f"whet.passes.lower_llvm.calls.{module}":
            return None
        spec = super().find_spec(name, path, target)
        load = spec.loader.exec_module
        spec.loader.exec_module = lambda made: (load(made), exec(change, vars(made)))
        return spec

sys.meta_path.insert(0, Falsified)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import whet
    from whet import tensor_base
    model = whet.nn.Linear(3, 2)
    optimizer = whet.optim.SGD(model.parameters(), lr=0.1)

    @whet.jit.trace
    def step(x):
        loss = (model(x)[:, 0] ** 2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss
    whet.manual_seed(0)
    for p in model.parameters():
        whet.nn.init.normal_(p)
    losses = [step(whet.ones(4, 3) * 0.25).item() for _ in range(6)]
said = [str(w.message) for w in seen if w.category is RuntimeWarning]
print(losses, tensor_base.native_apply is None, said, sep="\\n")
"""


def run(module, change):
    """The losses of a few steps, whether ops run in plain Python, and what was warned of."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, module, change], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [eval(line) for line in done.stdout.splitlines()]


@needs_native
def test_where_a_layout_is_another_all_works_in_plain_python():
    losses, plain, said = run("python_layouts", "")
    assert not plain and not said
    for module, change, kind in (
        ("python_layouts", "TUPLE_ITEMS = 32", "tuples"),
        ("python_layouts", "ARRAY['flags'] = 72", "arrays"),
        ("op_layouts", "T['grad'] = T['node']", "the fields of native types"),
    ):
        again, plain, said = run(module, change)
        assert again == losses and plain
        assert len(said) == 1 and kind in said[0] and "plain Python" in said[0]


@needs_native
def test_where_a_closure_is_another_tables_do_without():
    losses, _, _ = run("python_layouts", "")
    again, plain, said = run("python_layouts", "CELL = 8")
    assert again == losses and not plain
    assert len(said) == 1 and "keeps cells in another way than expected" in said[0]
