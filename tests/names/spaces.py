"""Which names of PyTorch are public, namespace by namespace."""
import importlib
import types

NAMESPACES = """
    torch torch.Tensor torch.nn torch.nn.functional torch.nn.init torch.nn.utils
    torch.nn.utils.rnn torch.nn.utils.parametrize torch.nn.utils.parametrizations
    torch.nn.utils.prune torch.nn.attention torch.nn.attention.flex_attention torch.nn.parameter
    torch.optim torch.optim.lr_scheduler torch.optim.swa_utils torch.linalg torch.fft torch.special
    torch.func torch.autograd torch.autograd.functional torch.autograd.forward_ad
    torch.autograd.graph torch.autograd.profiler torch.distributions
    torch.distributions.constraints torch.distributions.transforms torch.distributions.kl
    torch.sparse torch.signal.windows torch.masked torch.nested torch.amp torch.cuda
    torch.cuda.amp torch.accelerator torch.cpu torch.random torch.quasirandom torch.utils
    torch.utils.data torch.utils.checkpoint torch.utils.dlpack torch.utils.flop_counter
    torch.utils.hooks torch.library torch.overrides torch.multiprocessing torch.futures torch.hub
    torch.testing torch.profiler torch.types""".split()
# texts for docstrings, and flags for checkers of types
NO_NAMES = frozenset(("TYPE_CHECKING", "reproducibility_notes", "sparse_support_notes",
                      "tf32_notes", "common_notes"))
TENSOR = "torch.Tensor"


def find(root, namespace):
    """`torch.nn.utils` in torch, or what goes by that in whet; None where there is nothing."""
    found = root
    for part in namespace.split(".")[1:]:
        inside = getattr(found, part, None)
        if inside is None:
            try:
                inside = importlib.import_module(f"{found.__name__}.{part}")
            except ModuleNotFoundError:
                return None
        found = inside
    return found


def public(namespace, space):
    """(the public names of a PyTorch namespace, those that PyTorch says nothing of).

    Public is what `__all__` lists, and where there is none what is defined there. Modules count
    by the names in them."""
    listed = getattr(space, "__all__", None)
    names = set(listed or (n for n in dir(space) if not _is_borrowed(space, n)))
    # PyTorch lists a name that it does not have: `torch.sparse.solve`
    names = {n for n in names if hasattr(space, n)
             and not isinstance(getattr(space, n), types.ModuleType)}
    names = {n for n in names if not n.startswith("_") and n not in NO_NAMES}
    silent = {n for n in names if is_undocumented(getattr(space, n, None))}
    return sorted(names - silent), sorted(silent)


def _is_borrowed(space, name):
    """Is this name of a module one that it imports? Those of C++ have no home of their own."""
    if isinstance(space, type):
        return False
    home = getattr(getattr(space, name), "__module__", None)
    return isinstance(home, str) and not home.startswith((space.__name__, "torch._C"))


def is_undocumented(x):
    """A function or a class of C++ that PyTorch's documentation does not have: kernels of one
    library, parts of the compiler of TorchScript. What is documented has a text that begins on a
    line of its own, where pybind11 writes a signature."""
    if "pybind11_type" in (type(x).__name__, type(type(x)).__name__):
        return True
    is_native = isinstance(x, types.BuiltinFunctionType | types.MethodDescriptorType)
    return is_native and not (x.__doc__ or "").startswith("\n")
