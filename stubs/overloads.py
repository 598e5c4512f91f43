"""Functions whose result depends on the arguments: their signatures, one by one. The first that
fits holds."""

# methods that take less than those of their base
OVERRIDES = frozenset(
    "LBFGS.step ReduceLROnPlateau.step SequentialLR.step ChainedScheduler.step".split())

_EXTREME = (
    "(input: Tensor, *, out: Tensor | None = None) -> Tensor",
    "(input: Tensor, dim: int, keepdim: bool = False, *, out: Sequence[Tensor] | None = None) -> "
    "{}",
    "(input: Tensor, dim: Tensor, *, out: Tensor | None = None) -> Tensor",
    "(input: Tensor, *, other: Tensor, out: Tensor | None = None) -> Tensor",
)
_MIDDLE = (
    "(input: Tensor, *, out: Tensor | None = None) -> Tensor",
    "(input: Tensor, dim: int, keepdim: bool = False, *, out: Sequence[Tensor] | None = None) -> "
    "{}",
)


def _as_method(signatures):
    return [
        s.replace("(input: Tensor", "(self")
        .replace(", out: Tensor | None = None", "")
        .replace(", out: Sequence[Tensor] | None = None", "")
        .replace(", *)", ")")
        for s in signatures
    ]


def _pools(n):
    tail = (
        "stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1, ceil_mode: bool = False"
    )
    yield (
        f"max_pool{n}d",
        [
            f"(input: Tensor, kernel_size: Ints, {tail}, return_indices: Literal[False] = False) "
            "-> Tensor",
            f"(input: Tensor, kernel_size: Ints, {tail}, *, return_indices: Literal[True]) -> "
            "tuple[Tensor, Tensor]",
            f"(input: Tensor, kernel_size: Ints, {tail}, return_indices: bool = False) -> Any", ],
    )
    size = "output_size: int | Sequence[int | None] | None"
    yield (
        f"adaptive_max_pool{n}d",
        [
            f"(input: Tensor, {size}, return_indices: Literal[False] = False) -> Tensor",
            f"(input: Tensor, {size}, return_indices: Literal[True]) -> tuple[Tensor, Tensor]",
            f"(input: Tensor, {size}, return_indices: bool = False) -> Any",
        ],
    )


_UNIQUE = (
    "(input: Tensor, sorted: bool = True, return_inverse: Literal[False] = False, return_counts: "
    "Literal[False] = False, dim: int | None = None) -> Tensor",
    "(input: Tensor, sorted: bool = True, *, return_inverse: Literal[True], return_counts: "
    "Literal[True], dim: int | None = None) -> tuple[Tensor, Tensor, Tensor]",
    "(input: Tensor, sorted: bool = True, *, return_inverse: Literal[True], return_counts: "
    "Literal[False] = False, dim: int | None = None) -> tuple[Tensor, Tensor]",
    "(input: Tensor, sorted: bool = True, *, return_inverse: Literal[False] = False, "
    "return_counts: Literal[True], dim: int | None = None) -> tuple[Tensor, Tensor]",
    "(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = "
    "False, dim: int | None = None) -> Any",
)
_CONSECUTIVE = [s.replace("sorted: bool = True, ", "", 1) for s in _UNIQUE]
_NONZERO = (
    "(input: Tensor, *, as_tuple: Literal[False] = False, out: Tensor | None = None) -> Tensor",
    "(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]",
)
# of padded sequences; those of packed ones stand in other places
_LAYERS = ("input: Tensor, hx: Any, params: Any, has_biases: Any, num_layers: Any, dropout: float, "
           "train: bool, bidirectional: bool, batch_first: bool")
_COMPILE = (
    "fullgraph: bool = False, dynamic: bool | None = None, backend: str | Callable[..., Any] = "
    "'inductor', mode: str | None = None, options: Any = None, name: str | None = None, "
    "disable: bool = False, recompile_limit: int | None = None, isolate_recompiles: bool = False, "
    "shapes_spec: Any = None")
_TRACE = (
    "*, strict: bool = False, verify: str = 'sample', rewrites: Sequence[str] = (), "
    "dynamic: bool | Mapping[str, Mapping[int, Dim | str]] | None = None, "
    "example_kwarg_inputs: Mapping[str, Any] | None = None, check_trace: bool = True, "
    "check_inputs: Any = None, check_tolerance: float = 1e-5"
)
_DECORATES = ["(self, fn: None = None) -> None", "(self, fn: Callable[..., Any]) -> None"]

OVERLOADS = {
    "max": [s.format("max") for s in _EXTREME],
    "min": [s.format("min") for s in _EXTREME],
    "Tensor.max": [s.format("max") for s in _as_method(_EXTREME)],
    "Tensor.min": [s.format("min") for s in _as_method(_EXTREME)],
    "array_api.max": [
        "(x: Tensor, /, *, axis: Dims | None = None, keepdims: bool = False) -> Tensor"],
    "array_api.min": [
        "(x: Tensor, /, *, axis: Dims | None = None, keepdims: bool = False) -> Tensor"],
    "median": [s.format("median") for s in _MIDDLE],
    "nanmedian": [s.format("nanmedian") for s in _MIDDLE],
    "Tensor.median": [s.format("median") for s in _as_method(_MIDDLE)],
    "Tensor.nanmedian": [s.format("nanmedian") for s in _as_method(_MIDDLE)],
    "nonzero": list(_NONZERO),
    "Tensor.nonzero": _as_method(_NONZERO),
    "array_api.nonzero": ["(x: Tensor, /) -> tuple[Tensor, ...]"],
    "where": [
        "(condition: Tensor) -> tuple[Tensor, ...]",
        "(condition: Tensor, input: Scalar, other: Scalar, *, out: Tensor | None = None) -> Tensor",
    ], "array_api.where": ["(condition: Tensor, x1: Scalar, x2: Scalar, /) -> Tensor"
                           ], "unique": list(_UNIQUE), "Tensor.unique": _as_method(_UNIQUE),
    "unique_consecutive": _CONSECUTIVE, "Tensor.unique_consecutive": _as_method(_CONSECUTIVE),
    **{name: signatures for n in (1, 2, 3) for name, signatures in _pools(n)}, **{
        f"atleast_{n}d": [
            "(tensor: Tensor, /) -> Tensor",
            "(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]",
            "(first: Tensor, second: Tensor, /, *tensors: Tensor) -> tuple[Tensor, ...]",
        ] for n in (1, 2, 3)},
    "lu": [
        "(A: Tensor, pivot: bool = True, get_infos: Literal[False] = False, *, out: "
        "Sequence[Tensor] | None = None) -> tuple[Tensor, Tensor]",
        "(A: Tensor, pivot: bool = True, *, get_infos: Literal[True], out: Sequence[Tensor] | "
        "None = None) -> tuple[Tensor, Tensor, Tensor]", ],
    "Tensor.lu": [
        "(self, pivot: bool = True, get_infos: Literal[False] = False) -> tuple[Tensor, Tensor]",
        "(self, pivot: bool = True, *, get_infos: Literal[True]) -> tuple[Tensor, Tensor, Tensor]",
    ],
    "linalg.lu": [
        "(A: Tensor, *, pivot: bool = True, out: Sequence[Tensor] | None = None) -> linalg_lu"],
    "Tensor.size": ["(self, dim: None = None) -> Size", "(self, dim: int) -> int"],
    "Tensor.stride": ["(self, dim: None = None) -> tuple[int, ...]", "(self, dim: int) -> int"],
    "Tensor.to": [
        "(self, dtype: dtype, non_blocking: bool = False, copy: bool = False, *, memory_format: "
        "MemoryFormat = ...) -> Tensor",
        "(self, device: Device | None = None, dtype: dtype | None = None, non_blocking: bool = "
        "False, copy: bool = False, *, memory_format: MemoryFormat = ...) -> Tensor",
        "(self, other: Tensor, /, non_blocking: bool = False, copy: bool = False, *, "
        "memory_format: MemoryFormat = ...) -> Tensor", ],
    "Tensor.type": [
        "(self, dtype: None = None, non_blocking: bool = False) -> str",
        "(self, dtype: dtype | str | type, non_blocking: bool = False) -> Tensor", ],
    "Tensor": [
        "(self, *args: Any, device: Device | None = None, dtype: dtype | None = None, data: Any = "
        "None, requires_grad: bool = False) -> None"],
    "Tensor.view": ["(self, *shape: Ints) -> Tensor", "(self, dtype: dtype, /) -> Tensor"],
    "autograd.grad": [
        "(outputs: Tensor | Sequence[Tensor], inputs: Tensor | Sequence[Tensor], grad_outputs: "
        "Tensor | Sequence[Tensor | None] | None = None, retain_graph: bool | None = None, "
        "create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None, "
        "is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple[Tensor, ...]"],
    "jit.trace": [
        f"(fn: Callable[P, R], example_inputs: Any = None, {_TRACE}) -> Traced[P, R]",
        f"(fn: None = None, example_inputs: Any = None, {_TRACE}) -> Callable[[Callable[P, R]], "
        "Traced[P, R]]", ],
    "export": [
        "(fn: Callable[..., Any], /, *args: Any, "
        "dynamic: Mapping[str, Mapping[int, Any]] | None = None, "
        "rewrites: Sequence[str] = (), dtype: Any = None, **kwargs: Any) -> Any"],
    "Traced.export": ["(self, *args: Any, **kwargs: Any) -> Any"],
    "compile": [
        f"(model: F, *, {_COMPILE}) -> F",
        f"(model: None = None, *, {_COMPILE}) -> Callable[[F], F]"],
    "lstm": [f"({_LAYERS}) -> tuple[Tensor, Tensor, Tensor]"],
    **dict.fromkeys(("gru", "rnn_tanh", "rnn_relu"), [f"({_LAYERS}) -> tuple[Tensor, Tensor]"]),
    "convolution": [
        "(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints, "
        "dilation: Ints, transposed: bool, output_padding: Ints, groups: int) -> Tensor"],
    "native_dropout": ["(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]"],
    "lstm_cell": [
        "(input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = "
        "None, b_hh: Tensor | None = None) -> tuple[Tensor, Tensor]"],
    "Module.compile": ["(self, *args: Any, **kwargs: Any) -> None"],
    "script": ["(obj: F, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, "
               "example_inputs: Any = None) -> F"],
    "trace_module": [
        "(mod: F, inputs: Mapping[str, Any], optimize: Any = None, check_trace: bool = True, "
        "check_inputs: Any = None, check_tolerance: float = 1e-5, strict: bool = False, "
        "example_inputs_is_kwarg: bool = False) -> F"],
    "script_method": ["(fn: F) -> F"],
    "ignore": ["(drop: F, **kwargs: Any) -> F",
               "(drop: bool = False, **kwargs: Any) -> Callable[[F], F]"],
    **dict.fromkeys(("unused", "script_if_tracing", "interface"), ["(fn: F) -> F"]),
    "freeze": ["(mod: F, preserved_attrs: Sequence[str] | None = None, "
               "optimize_numerics: bool = True) -> F"],
    "optimize_for_inference": ["(mod: F, other_methods: Sequence[str] | None = None) -> F"],
    "fork": ["(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any"],
    "wait": ["(future: Any) -> Any"],
    "Attribute": ["(value: Any, type: Any = None) -> Any"],
    "list_backends": ["(exclude_tags: Sequence[str] = ...) -> list[str]"],
    "get_device_states": ["(*args: Any) -> tuple[list[int], list[Tensor]]"],
    "set_device_states": ["(devices: Sequence[int], states: Sequence[Tensor], *, "
                          "device_type: str | None = None) -> None"],
    "annotate": ["(the_type: Any, the_value: Any) -> Any"],
    "no_grad": ["(self, fn: Callable[..., Any] | None = None) -> None"],
    "enable_grad": ["(self, fn: Callable[..., Any] | None = None) -> None"],
    "StackDataset": ["(self, *args: Dataset[Any], **kwargs: Dataset[Any]) -> None"],
    "AdaptiveMaxPool1d.forward": ["(self, input: Tensor) -> Any"],
    "AdaptiveMaxPool2d.forward": ["(self, input: Tensor) -> Any"],
    "AdaptiveMaxPool3d.forward": ["(self, input: Tensor) -> Any"],
    "MaxPool1d.forward": ["(self, input: Tensor) -> Tensor"],
    "RNNBase.forward": ["(self, input: Any, hx: Any = None) -> Any"], }
