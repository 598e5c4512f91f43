"""Types that a node is computed in. The standard gives an operator some types, and ONNX Runtime has
kernels for fewer still. Where a type is missing, the node is written in a wider one that holds each
of its numbers, and the result is cut back: that is exact, and sums of halves round once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...dtypes import SHORT
from ..element_types import ElementType

# which types may stand for one, the nearest first
WIDER: dict[str, tuple[str, ...]] = {
    "bool": ("u8", "i32", "i64", "f32"),
    "i8": ("i32", "f32"),
    "u8": ("i32", "f32"),
    "i16": ("i32", "i64", "f32"),
    "u16": ("i32", "i64", "f32"),
    "i32": ("i64", "f64"),
    "u32": ("i64", "f64"),
    "f16": ("f32",),
    "bf16": ("f32",),
}
# Operators that take numbers of these types by the standard, and have no kernel for them in ONNX
# Runtime: `python -m tests.onnx.runtime_kernels` finds them.
MISSING: dict[str, str] = {
    "ArgMax": "i16 u16 u32 u64",
    "ArgMin": "i16 u16 u32 u64",
    "AveragePool": "f64",
    "Conv": "f64",
    "ConvTranspose": "f64",
    "CumSum": "u32 u64",
    "Det": "f64",
    "DepthToSpace": "i16 i32 i64 u16 u32 u64 bool",
    "Einsum": "i8 i16 u8 u16 u32 u64",
    "GridSample": "i8 i16 i32 i64 u8 u16 u32 u64 bool",
    "Max": "i16 u16",
    "Min": "i16 u16",
    "NonZero": "i8 i16 u16 u32 u64",
    "Pad": "i16 u16",
    "Relu": "i16 i64",
    "Resize": "i16 i64 u16 u32 u64 bool",
    "SpaceToDepth": "i16 i32 i64 u16 u32 u64 bool",
    "TopK": "u16 u32 u64",
    "Trilu": "i8 i16 u8 u16 u32 u64",
    "Unique": "i16 i32 u8 u16 u32 u64 bool",
    "Where": "i16 u16 u64 bool",
    **dict.fromkeys(
        ("ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceMean", "ReduceLogSumExp"),
        "u32 u64",
    ),
}
# Of these it has none where `reduction` combines.
COMBINING = "f16 bool"
# It has kernels of bfloat16 for these alone.
OF_BFLOAT16 = frozenset((
    "Cast", "Concat", "Flatten", "Gather", "GatherElements", "GatherND", "Identity", "If",
    "IsInf", "IsNaN", "Loop", "Reshape", "Scan", "ScatterElements", "ScatterND", "Shape", "Slice",
    "Split", "Squeeze", "Transpose", "Unsqueeze", "Attention", "RMSNormalization",
    "DequantizeLinear"))  # fmt: skip


def main_type(schema: Any) -> str:
    """The variable of an operator's types that says in which one it computes."""
    accepted = [x.type_str for x in schema.inputs]
    made: str = schema.outputs[0].type_str
    return made if made in accepted else accepted[0] if accepted else made


def _is_missing(operator: str, dtype: str, attributes: Mapping[str, Any]) -> bool:
    """Has ONNX Runtime no kernel of an operator for a type?"""
    if operator.startswith("Scatter") and attributes.get("reduction", "none") != "none":
        return dtype in COMBINING.split()
    if dtype == "bf16":
        return operator not in OF_BFLOAT16
    return dtype in MISSING.get(operator, "").split()


def has_kernel(schema: Any, accepted: set[int], dtype: str) -> bool:
    """Can a node be computed in a type, or exactly in a wider one?"""
    t = computed_in(schema, accepted, dtype, {})
    return t != "" and not _is_missing(schema.name, t, {})


def computed_in(schema: Any, accepted: set[int], dtype: str, attributes: Mapping[str, Any]) -> str:
    """The type to write a node in whose operands have this one: itself, where nothing is missing,
    or where nothing wider serves and the standard has it. `accepted` are the codes of those that
    the standard has; an empty text where there is none."""

    def has(t: str) -> bool:
        return ElementType.of(SHORT[t]).code in accepted

    if has(dtype) and not _is_missing(schema.name, dtype, attributes):
        return dtype
    for t in WIDER.get(dtype, ()):
        if has(t) and not _is_missing(schema.name, t, attributes):
            return t
    return dtype if has(dtype) else ""
