"""What classes inherit from, where that is not the live bases, and their operators and
protocols."""

# what stands in the parentheses of a class, where it is not the live bases
HEADS = {
    "Dataset": "Generic[T_co]",
    "IterableDataset": "Dataset[T_co]",
    "TensorDataset": "Dataset[tuple[Tensor, ...]]",
    "StackDataset": "Dataset[Any]",
    "ConcatDataset": "Dataset[T_co]",
    "ChainDataset": "IterableDataset[T_co]",
    "Subset": "Dataset[T_co]",
    "IterDataPipe": "IterableDataset[T_co]",
    "DFIterDataPipe": "IterDataPipe[Any]",
    "MapDataPipe": "Dataset[T_co]",
    "DataChunk": "list[Any]",
    "DataLoader": "Generic[T_co]",
    "Sampler": "Generic[T_co]",
    "BatchSampler": "Sampler[list[int]]",
    "Traced": "Generic[P, R]",
    "RandomSampler": "Sampler[int]",
    "SequentialSampler": "Sampler[int]",
    "SubsetRandomSampler": "Sampler[int]",
    "WeightedRandomSampler": "Sampler[int]",
    "DistributedSampler": "Sampler[int]",
    "Size": "tuple[int, ...]",
    "Tensor": "",
    "Variable": "Tensor",
    "Function": "",
    "Node": "",
    "_DependentProperty": "property, Constraint",
}

_ARITHMETIC = "(self, other: Scalar | np.ndarray[Any, Any]) -> Tensor"
_IN_PLACE = "(self, other: Scalar | np.ndarray[Any, Any]) -> Self"
_ENTERS = {"__enter__": "(self) -> Any", "__exit__": "(self, *exc: object) -> None"}
_MODE = {
    "__call__": "(self, fn: F) -> F",
    "__enter__": "(self) -> None",
    "__exit__": "(self, *exc: object) -> None",
}
_COMPARISONS = "lt", "le", "gt", "ge", "eq", "ne"
_SAMPLES = {"__iter__": "(self) -> Iterator[int]", "__len__": "(self) -> int"}

_FUNCTIONS = {"__getattr__": "(self, name: str) -> Callable[..., Any]"}
DUNDERS = {
    "IterDataPipe": _FUNCTIONS,
    "MapDataPipe": _FUNCTIONS,
    "Variable": {"__new__": "(cls, data: Tensor, requires_grad: bool = False, "
                            "volatile: Any = None) -> Self"},
    "ConstraintRegistry": {"__call__": "(self, constraint: Constraint) -> Transform"},
    "Tensor": {
        **{
            f"__{side}{op}__": _ARITHMETIC
            for op in (
                "add",
                "sub",
                "mul",
                "truediv",
                "floordiv",
                "mod",
                "pow",
                "and",
                "or",
                "xor",
                "lshift",
                "rshift",
                "matmul",
            )
            for side in ("", "r")
        },
        **{
            f"__i{op}__": _IN_PLACE
            for op in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor")
        },
        **{f"__{op}__": "(self, other: Any) -> Tensor" for op in _COMPARISONS},
        **{f"__{op}__": "(self) -> Tensor" for op in ("neg", "pos", "abs", "invert")},
        "__hash__": "(self) -> int",
        "__bool__": "(self) -> bool",
        "__int__": "(self) -> int",
        "__float__": "(self) -> float",
        "__complex__": "(self) -> complex",
        "__index__": "(self) -> int",
        "__len__": "(self) -> int",
        "__iter__": "(self) -> Iterator[Tensor]",
        "__contains__": "(self, x: Scalar) -> bool",
        "__getitem__": "(self, index: Index) -> Tensor",
        "__setitem__": "(self, index: Index, value: Scalar | Sequence[Any]) -> None",
        "__array__": "(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]",
        "__dlpack__": "(self, *args: Any, **kwargs: Any) -> Any",
        "__dlpack_device__": "(self) -> tuple[int, int]",
    },
    "Size": {"__getitem__": ["(self, index: SupportsIndex) -> int", "(self, index: slice) -> "
                                                                    "Size"]},
    "Module": {
        "__call__": "(self, *args: Any, **kwargs: Any) -> Any",
        "__getattr__": "(self, name: str) -> Any",
        "__setattr__": "(self, name: str, value: Any) -> None",
    },
    "Sequential": {
        "__getitem__": ["(self, index: int) -> Module", "(self, index: slice) -> Sequential"],
        "__len__": "(self) -> int",
        "__iter__": "(self) -> Iterator[Module]",
    },
    "ModuleList": {
        "__getitem__": ["(self, index: int) -> Module", "(self, index: slice) -> ModuleList"],
        "__len__": "(self) -> int",
        "__iter__": "(self) -> Iterator[Module]",
        "__setitem__": "(self, index: int, module: Module) -> None",
    },
    "ModuleDict": {
        "__getitem__": "(self, key: str) -> Module",
        "__len__": "(self) -> int",
        "__iter__": "(self) -> Iterator[str]",
        "__contains__": "(self, key: str) -> bool",
        "__setitem__": "(self, key: str, module: Module) -> None",
    },
    "ParameterList": {
        "__getitem__": "(self, index: Any) -> Any",
        "__len__": "(self) -> int",
        "__iter__": "(self) -> Iterator[Any]",
    },
    "ParameterDict": {
        "__getitem__": "(self, key: str) -> Any",
        "__len__": "(self) -> int",
        "__iter__": "(self) -> Iterator[str]",
        "__contains__": "(self, key: str) -> bool",
        "__setitem__": "(self, key: str, value: Any) -> None",
    },
    "Dataset": {
        "__getitem__": "(self, index: int) -> T_co",
        "__add__": "(self, other: Dataset[T_co]) -> ConcatDataset[T_co]",
    },
    "IterableDataset": {"__iter__": "(self) -> Iterator[T_co]"},
    "ChainDataset": {"__len__": "(self) -> int"},
    "TensorDataset": {
        "__getitem__": "(self, index: int) -> tuple[Tensor, ...]",
        "__len__": "(self) -> int",
    },
    "StackDataset": {"__len__": "(self) -> int"},
    "ConcatDataset": {"__len__": "(self) -> int"},
    "Subset": {"__len__": "(self) -> int"},
    "DataLoader": {"__iter__": "(self) -> Iterator[Any]", "__len__": "(self) -> int"},
    "Sampler": {"__iter__": "(self) -> Iterator[T_co]"},
    "BatchSampler": {"__iter__": "(self) -> Iterator[list[int]]", "__len__": "(self) -> int"},
    **dict.fromkeys(
        [f"{kind}Sampler"
         for kind in ("Random", "Sequential", "SubsetRandom", "WeightedRandom", "Distributed")],
        _SAMPLES,
    ),
    **dict.fromkeys(
        ("no_grad", "enable_grad", "set_grad_enabled", "inference_mode", "autocast"), _MODE
    ),
    **dict.fromkeys(
        (
            "dual_level", "detect_anomaly", "set_detect_anomaly", "saved_tensors_hooks",
            "RemovableHandle", "fork_rng", "disable",
        ),
        _ENTERS,
    ),
    "Traced": {
        "__call__": "(self, *args: P.args, **kwargs: P.kwargs) -> R",
        "__get__": "(self, owner: Any, cls: Any = None) -> Callable[..., R]",
    },
    "Transform": {"__call__": "(self, x: Tensor) -> Tensor"},
    "Node": {"__call__": "(self, *gradients: Tensor | None) -> Any"},
    "Dim": {"__contains__": "(self, size: int) -> bool"},
}
