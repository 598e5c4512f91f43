"""What `help()` says: every public name has a docstring, those of `whet.optim` with an example."""
import importlib
import inspect
import operator

import pytest
import whet

# of the spaces that PyTorch has, and of our own
SPACES = """
    whet whet.nn whet.nn.functional whet.nn.init whet.nn.utils whet.nn.utils.rnn
    whet.nn.utils.parametrize whet.nn.utils.prune whet.optim whet.optim.lr_scheduler
    whet.optim.swa_utils whet.linalg whet.fft whet.special whet.func whet.autograd
    whet.autograd.functional whet.autograd.forward_ad whet.autograd.graph whet.distributions
    whet.distributions.constraints whet.sparse whet.signal.windows whet.masked whet.nested whet.amp
    whet.cuda whet.random whet.utils whet.utils.data whet.utils.checkpoint whet.library
    whet.overrides whet.multiprocessing whet.hub whet.testing whet.profiler whet.jit whet.onnx
    whet.distributed whet.compiler whet.export whet.memory whet.train whet.datasets
    whet.array_api""".split()
WITH_EXAMPLES = ("whet.optim", "whet.optim.lr_scheduler")


def public(space):
    """(name, what it is) of the functions and classes of ours that a space lists or has."""
    for name in getattr(space, "__all__", None) or dir(space):
        found = getattr(space, name, None)
        home = str(getattr(found, "__module__", None) or "whet")
        if not name.startswith("_") and callable(found) and home.startswith("whet"):
            yield name, found


def find(space):
    """`whet.nn.utils`, which may be an object in place of a module."""
    try:
        return importlib.import_module(space)
    except ModuleNotFoundError:
        return operator.attrgetter(space.removeprefix("whet."))(whet)


@pytest.mark.parametrize("space", SPACES)
def test_every_public_name_has_a_docstring(space):
    without = [n for n, x in public(find(space)) if not inspect.getdoc(x)]
    assert not without


def test_every_method_of_a_tensor_has_a_docstring():
    assert not [n for n, x in public(whet.Tensor) if not inspect.getdoc(x)]


@pytest.mark.parametrize("space", WITH_EXAMPLES)
def test_optimizers_and_schedulers_have_examples(space):
    assert not [n for n, x in public(find(space))
                if isinstance(x, type) and ">>>" not in (x.__doc__ or "")]
