"""All ops. Importing this package defines them, and gives Tensor its methods.

An op is defined in one file, that of its family, such as `pointwise.py` or `convolutions.py`.
`registry.py` has the class `Op` and runs one. `surface.py` has all functions by name.
What families share: `pointwise_family.py` and `rows_family.py` for eager kernels and derivatives,
`batching.py` for `vmap`, `tangents.py` for forward mode, `sample_inputs.py` for tests.
An op checks its arguments before it writes anything; `argument_errors.py` names the one at fault.
"""

from types import FunctionType

from .. import declared_for_tracing, tensor_base
from ..tensor import Tensor
from . import surface

declared_for_tracing.only_computes(globals())
for _family in (
    "pointwise arithmetic creation from_data ranges structured_matrices signal_windows "
    "coordinate_grids convert type_queries storage storage_kinds pickling view view_parts "
    "views_in_place complex_views split strided_views movement join repeat slice_scatter pad "
    "advanced_indexing index nonzero gather masks scatter index_slices search reduce variance "
    "softmax vector_norm scan sort segments contract sums_with_products einsum distances "
    "sparse_products sparse_names nested_names random multinomial random_in_place random_counts "
    "python_calls numpy_calls convolutions pools quantised norm native_norms activation attention "
    "recurrent loss margin_losses ctc embedding grid_sampling resize lapack fourier "
    "array_protocols array_exchange cross_product comparisons covariance sample_gradient "
    "numerics_settings control_flow special bessel operators functional_names view_copies "
    "axis_names legacy_argument_orders saved_names module_parts hashing user_kernels "
    "removed_methods quantised_names"
).split():
    __import__(f"{__name__}.{_family}")

from .argument_guards import name_those_behind  # noqa: E402
from .linalg_names import publish  # noqa: E402  (linalg is made of other ops)
from .registry import OURS, REGISTRY  # noqa: E402

publish()
OURS.update(REGISTRY.values())

for _name, _fn in surface.METHODS.items():
    name_those_behind(_fn, _name)

if tensor_base.Base is not tensor_base.PyBase:
    from .native_entries import install
    install()

for _name, _fn in surface.METHODS.items():
    if isinstance(_fn, FunctionType) and not _fn.__doc__:
        _fn.__doc__ = (f"`{_name[:-1]}`, in place." if _name[-1] == "_" else
                       getattr(surface.FUNCTIONS.get(_name), "__doc__", None)
                       or f"See `whet.{_name}`.")
    if _name not in Tensor.__dict__:
        setattr(Tensor, _name, surface.guarded_method(_name, _fn))


def load_library(path):
    """Raise OSError: a library of operators in C++ is made for PyTorch. Packages that have one take
    this for a library that is not there.

    >>> import whet
    >>> whet.ops.load_library("_C.so")
    Traceback (most recent call last):
    OSError: _C.so: libraries of operators that are compiled for PyTorch cannot be loaded
    """
    raise OSError(f"{path}: libraries of operators that are compiled for PyTorch cannot be loaded")


def __getattr__(name):
    if name == "aten":
        import importlib
        return importlib.import_module(f"{__name__}.aten")
    try:
        return surface.FUNCTIONS[name]
    except KeyError:
        raise AttributeError(f"whet.ops has no function {name!r}") from None
