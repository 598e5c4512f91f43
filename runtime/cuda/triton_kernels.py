"""Kernels that users wrote in Triton, launched on tensors: `whet.library.wrap_triton`.

A call's arguments are classified as Triton does: constants for which a kernel is compiled, pointers
(tensors), numbers, and options of the compiler. Triton's own driver is not used.
"""
from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import dtypes
from ..autograd import modes
from ..ops import registry
from ..ops.changes_in_place import in_place
from ..ops.convert import copy_op
from ..ops.user_kernels import KERNELS, given_kernel
from ..tensor import Tensor

if TYPE_CHECKING:
    from ..passes.lower_triton.user_kernels import Given

KINDS = {
    dtypes.bool_: "*i1", dtypes.int8: "*i8", dtypes.int16: "*i16", dtypes.int32: "*i32",
    dtypes.int64: "*i64", dtypes.uint8: "*u8", dtypes.uint16: "*u16", dtypes.uint32: "*u32",
    dtypes.uint64: "*u64", dtypes.float16: "*fp16", dtypes.bfloat16: "*bf16",
    dtypes.float32: "*fp32", dtypes.float64: "*fp64", dtypes.float8_e4m3fn: "*fp8e4nv",
    dtypes.float8_e5m2: "*fp8e5"}
# what a launch may tell the compiler; the others change how kernels are launched
OPTIONS = frozenset(("num_warps", "num_stages", "maxnreg", "enable_fp_fusion"))
IGNORED = frozenset(("debug", "ir_override"))
SAME, MOST = 1, 3                   # clusters of one block; dimensions of a grid


class Specialised(NamedTuple):
    """A kernel compiled for arguments of some types."""
    source: Given
    name: str
    written: tuple[int, ...]        # which of its tensors it writes to
    unspecialised: tuple[str, ...]


class Parameter(NamedTuple):
    """A parameter of a kernel: is it a constant, what type was declared for it, and is the kernel
    specialised by its value?"""
    is_constant: bool
    kind: str
    is_specialised: bool

    @classmethod
    def of(cls, p: Any) -> Parameter:
        """What Triton says of one."""
        kind = p.annotation_type if p.annotation_type[:1] != "*" else ""
        return cls(p.is_constexpr, "i1" if kind == "u1" else kind, not p.do_not_specialize)


def wrapped(kernel: Any) -> Any:
    """What launches a Triton kernel on tensors of ours."""
    found = _wrapped.get(id(kernel))
    if found is None:
        found = _wrapped[id(kernel)] = kernel, _wrap(kernel)
    return found[1]


# by id, with the kernel, which so keeps its id
_wrapped: dict[int, tuple[Any, Any]] = {}


def _wrap(kernel: Any) -> Any:
    from ..passes.lower_triton.user_kernels import kernel_of
    kind, inner = kernel_of(kernel)
    return {"jit": Launcher, "autotune": Tuned, "heuristics": Computed}[kind](inner)


class Grids:
    """What is launched by `x[grid](*args, **kwargs)`."""

    def __getitem__(self, grid: Any) -> Any:
        return _At(self, grid)

    def run(self, *args: Any, grid: Any, **kwargs: Any) -> None:
        """Launch it."""
        raise NotImplementedError


class Computed(Grids):
    """A kernel some of whose arguments are functions of the others: `triton.heuristics`."""

    def __init__(self, given: Any) -> None:
        self.inner, self.names, self.values = wrapped(given.fn), given.arg_names, given.values

    def run(self, *args: Any, grid: Any, **kwargs: Any) -> None:
        """Launch the kernel with what the functions give."""
        for name, value in self.values.items():
            kwargs[name] = value({**dict(zip(self.names, args, strict=False)), **kwargs})
        self.inner.run(*args, grid=grid, **kwargs)


class Tuned(Grids):
    """A kernel some of whose arguments are chosen by timing: `triton.autotune`."""

    def __init__(self, given: Any) -> None:
        self.inner, self.given, self.chosen = wrapped(given.fn), given, dict[Any, Any]()

    def run(self, *args: Any, grid: Any, **kwargs: Any) -> None:
        """Launch the kernel as its configuration for such arguments says."""
        given, configs = self.given, self.given.configs
        named = {**dict(zip(given.arg_names, args, strict=False)), **kwargs}
        config = configs[0]
        if len(configs) > 1:
            key = (*[_plain(named[k]) for k in given.keys if k in named],
                   *[x.dtype for x in named.values() if isinstance(x, Tensor)])
            found = self.chosen.get(key)
            if found is None:
                found = self.chosen[key] = self._choose(args, grid, kwargs, named)
            config = found
        if config.pre_hook is not None:
            config.pre_hook({**named, **config.all_kwargs()})
        self.inner.run(*args, grid=grid, **kwargs, **config.all_kwargs())

    def _choose(self, args: Any, grid: Any, kwargs: dict[str, Any], named: dict[str, Any]) -> Any:
        """The fastest configuration for some arguments; the first one of several."""
        from .call_timing import time_of
        given = copy.copy(self.given)        # how it leaves some out goes by an attribute
        given.nargs = dict(zip(given.arg_names, args, strict=False))
        configs = given.prune_configs(kwargs)
        if len(configs) == 1:
            return configs[0]
        times = []
        for config in configs:
            again = kwargs.keys() & config.kwargs.keys()
            if again:
                raise ValueError(f"Conflicting meta-parameters: {', '.join(again)}. Make sure that "
                                 "you don't re-define auto-tuned symbols.")
            call = self._call(args, grid, kwargs, config, {**named, **config.all_kwargs()})
            measure = given._do_bench or time_of
            times.append(measure(call, quantiles=(0.5, 0.2, 0.8)))
        given.pre_hook({**named, **configs[0].all_kwargs()}, reset_only=True)
        return configs[min(range(len(configs)), key=times.__getitem__)]

    def _call(self, args: Any, grid: Any, kwargs: dict[str, Any], config: Any,
              named: dict[str, Any]) -> Any:
        """A launch as a configuration says, with what is to be done before and after it."""
        def call() -> None:
            if config.pre_hook is not None:
                config.pre_hook(named)
            self.given.pre_hook(named)
            try:
                self.inner.run(*args, grid=grid, **kwargs, **config.all_kwargs())
            except Exception as error:
                self.given.post_hook(named, exception=error)
                raise
            self.given.post_hook(named, exception=None)
        return call


class Launcher(Grids):
    """A kernel by itself."""

    def __init__(self, kernel: Any) -> None:
        self.fn, self.made = kernel, dict[Any, Specialised]()
        self.parameters = {p.name: Parameter.of(p) for p in kernel.params}
        self.signature = inspect.signature(kernel.fn)
        self.names = frozenset(self.parameters)
        self.unspecialised = tuple([
            p.name for p in kernel.params
            if p.do_not_specialize or p.do_not_specialize_on_alignment])

    def __repr__(self) -> str:
        return f"<triton kernel {self.fn.__name__}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel. Launch it "
                           f"with a grid: {self.fn.__name__}[grid](...)")

    def run(self, *args: Any, grid: Any, **kwargs: Any) -> None:
        """Launch the kernel, in the stream that is chosen."""
        given = self._bound(args, kwargs)
        options = self._options(kwargs)
        kinds, constants, tensors, numbers = self._sorted_by_kind(given)
        index = self._device(kinds, tensors)
        if callable(grid):
            grid = grid(dict(given))
        grid = _checked(grid, self.fn.__name__)
        if index is None or not all(grid):
            return                           # Triton launches nothing for a grid of 0 either
        kernel = self._specialised(kinds, constants, options)
        launch(kernel, index, tensors, numbers, grid)

    # ---- arguments ----
    def _bound(self, args: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by the names of the kernel's parameters."""
        named = {k: v for k, v in kwargs.items() if k in self.names}
        given = dict(zip(self.parameters, args, strict=False))
        if len(args) + len(named) == len(self.parameters) and not given.keys() & named.keys():
            return given | named
        bound = self.signature.bind(*args, **named)
        bound.apply_defaults()
        return bound.arguments

    def _options(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The options of the compiler."""
        found = {}
        for name, value in kwargs.items():
            if name in self.names or value is None or name in IGNORED:
                continue
            if name == "num_ctas" and value == SAME:
                continue
            if name == "num_ctas":
                raise NotImplementedError(f"{self.fn.__name__}: clusters of blocks (num_ctas="
                                          f"{value}) are not there yet")
            if name not in OPTIONS:
                raise KeyError(f"Keyword argument {name} was specified but unrecognised")
            found[name] = value
        warps = found.get("num_warps", 1)
        if warps < 1 or warps & warps - 1:
            raise ValueError(f"num_warps must be a power of 2, not {warps}")
        return found

    def _sorted_by_kind(self, given: Mapping[str, Any]) -> tuple[
            dict[str, str], dict[str, Any], list[Tensor], list[Any]]:
        """(kinds of the arguments of each launch, constants, tensors, numbers)."""
        kinds: dict[str, str] = {}
        constants: dict[str, Any] = {}
        tensors: list[Tensor] = []
        numbers: list[Any] = []
        for name, p in self.parameters.items():
            x = given[name]
            if p.is_constant:
                constants[name] = x.value if _is_constexpr(x) else _plain(x)
            elif isinstance(x, Tensor):
                kind = KINDS.get(x.dtype)
                if kind is None:
                    raise TypeError(f"{self.fn.__name__}: argument {name}: Triton has no pointers "
                                    f"to {x.dtype}")
                kinds[name] = kind
                tensors.append(x)
            else:
                x = _plain(x)
                kind = self._number(name, p, x)
                if kind is None:
                    constants[name] = x
                else:
                    kinds[name] = kind
                    numbers.append(x)
        return kinds, constants, tensors, numbers

    def _number(self, name: str, p: Parameter, x: Any) -> str | None:
        """The type of a number; None where the kernel is compiled for it."""
        if x is None:
            return None
        if isinstance(x, bool):
            return p.kind or "i1"
        if isinstance(x, int):
            return None if x == 1 and p.is_specialised else p.kind or _whole(x)
        if isinstance(x, float):
            return "fp64" if p.kind == "fp64" else "fp32"
        raise TypeError(f"{self.fn.__name__}: argument {name} must be a tensor, a number, a bool "
                        f"or None, not {type(x).__name__}")

    def _device(self, kinds: Mapping[str, str], tensors: list[Tensor]) -> int | None:
        """The number of the device that the tensors are on; None where they are on `meta`, where
        nothing is computed."""
        found = {t.device for t in tensors}
        if len(found) == 1 and (device := found.pop()).type == "cuda":
            return device.index
        if not tensors:
            from . import device_state
            return device_state.current_device()
        if all(t.is_meta for t in tensors):
            return None
        pointers = [name for name, kind in kinds.items() if kind[0] == "*"]
        for name, t in zip(pointers, tensors, strict=True):
            if t.device.type != "cuda":
                raise ValueError(
                    f"{self.fn.__name__}: Pointer argument (at {[*self.parameters].index(name)}) "
                    f"cannot be accessed from Triton (cpu tensor?): {name} is on '{t.device}'. "
                    "Bring tensors to a GPU with .cuda() (WHET_GPU=sim in the environment gives "
                    "simulated ones), or give the operator a function for the CPU: "
                    "register_kernel(\"cpu\")")
        one, other, *_ = sorted(map(str, found))
        raise RuntimeError(
            f"{self.fn.__name__}: Expected all tensors to be on the same device, but found at "
            f"least two devices, {one} and {other}!")

    # ---- kernels ----
    def _specialised(self, kinds: dict[str, str], constants: dict[str, Any],
                     options: dict[str, Any]) -> Specialised:
        """The kernel for such arguments."""
        for (name, _), (value, names) in self.fn.used_global_vals.items():
            if names.get(name, self) != value:
                raise RuntimeError(f"Global variable {name} has changed since we compiled this "
                                   f"kernel, from {value} to {names.get(name)}")
        key = (*kinds.items(), *[(k, type(v), v) for k, v in constants.items()], *options.items())
        found = self.made.get(key)
        if found is None:
            from ..passes.lower_triton.user_kernels import given, written
            source = given(self.fn, kinds, constants, options)
            tensors = [name for name, kind in kinds.items() if kind[0] == "*"]
            targets = tuple([tensors.index(name) for name in written(source)])
            found = Specialised(source, source.key, targets, self.unspecialised)
            self.made[key] = KERNELS[found.name] = found
        return found


class _At:
    """A kernel with its grid."""
    __slots__ = ("kernel", "grid")

    def __init__(self, kernel: Grids, grid: Any) -> None:
        self.kernel, self.grid = kernel, grid

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        self.kernel.run(*args, grid=self.grid, **kwargs)


def _is_constexpr(x: Any) -> bool:
    return type(x).__name__ == "constexpr" and hasattr(x, "value")


def _plain(x: Any) -> Any:
    """A Python number: traces have stand-ins for those that vary, which a launch does not
    tell apart."""
    if isinstance(x, Tensor):
        raise TypeError("a constexpr cannot be a tensor")
    if hasattr(x, "__whet_plain__"):
        return x.__whet_plain__()
    return x


def _whole(x: int) -> str:
    """The type that Triton takes a whole number for."""
    if -1 << 31 <= x < 1 << 31:
        return "i32"
    if -1 << 63 <= x < 1 << 63:
        return "i64"
    if x < 1 << 64:
        return "u64"
    raise OverflowError(f"{x} is too large for 64 bits")


def _checked(grid: Any, name: str) -> tuple[int, int, int]:
    """A grid as three numbers."""
    if not isinstance(grid, tuple | list) or not 0 < len(grid) <= MOST:
        raise TypeError(f"{name}: a grid is a tuple of one to three numbers, or a function that "
                        f"gives one, not {grid!r}")
    sizes = [_plain(n) for n in grid]
    if any(not hasattr(n, "__index__") or n < 0 for n in sizes):
        raise TypeError(f"{name}: the sizes of a grid are whole numbers, not {grid!r}")
    x, y, z = [int(n) for n in sizes] + [1] * (MOST - len(sizes))
    return x, y, z


# ---- launches ------------------------------------------------------------------------------------
def launch(kernel: Specialised, index: int, tensors: list[Tensor], numbers: list[Any],
           grid: tuple[int, int, int]) -> None:
    """Make a launch, seen by those who see ops."""
    if modes.state.observers and kernel.written and _seen(kernel, tensors, numbers, grid):
        return
    from . import user_kernels
    user_kernels.run(kernel.source, index, [t._array for t in tensors], numbers, grid,
                      kernel.unspecialised)
    for k in kernel.written:
        tensors[k]._bump(kernel.source.name)


def _seen(kernel: Specialised, tensors: list[Tensor], numbers: list[Any],
          grid: tuple[int, int, int]) -> bool:
    """Make the launch as an op; False where it is none."""
    if any(t._stands_for_another for t in tensors):
        raise RuntimeError(
            f"{kernel.source.name}: a Triton kernel works on elements in memory, so it cannot run "
            "inside of a transform. Make it a part of an operator (whet.library.triton_op), and "
            "say what a batch of calls is (register_vmap)")
    attrs = {"kernel": kernel.name, "grid": grid, "numbers": tuple(numbers),
             "written": kernel.written}
    with modes.no_grad():
        if len(kernel.written) == 1:
            others = list(tensors)
            first = others.pop(kernel.written[0])
            in_place(given_kernel, first, tuple(others), attrs)
            return True
        held = [t._array.held for t in tensors]
        if any(held.count(held[k]) > 1 for k in kernel.written):
            modes.beyond(f"{kernel.source.name} writes to several tensors, of which some share "
                         "memory")
            return False
        made = registry.apply(given_kernel, tuple(tensors), attrs)
        for k, y in zip(kernel.written, made, strict=True):
            in_place(copy_op, tensors[k], (y,), {})
    return True
