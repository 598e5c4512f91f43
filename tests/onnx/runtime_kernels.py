"""Which types of the standard ONNX Runtime has no kernels for, by operators: what
`whet/onnx/write/runner_types.py` goes by. It is run by a Python that has ONNX Runtime:

    .venv-peers/bin/python -m tests.onnx.runtime_kernels
"""

import collections

import onnx
from onnx import TensorProto, helper

OPSET = 20
TYPES = {
    "f32": ("float", TensorProto.FLOAT), "f64": ("double", TensorProto.DOUBLE),
    "f16": ("float16", TensorProto.FLOAT16), "bf16": ("bfloat16", TensorProto.BFLOAT16),
    "i8": ("int8", TensorProto.INT8), "i16": ("int16", TensorProto.INT16),
    "i32": ("int32", TensorProto.INT32), "i64": ("int64", TensorProto.INT64),
    "u8": ("uint8", TensorProto.UINT8), "u16": ("uint16", TensorProto.UINT16),
    "u32": ("uint32", TensorProto.UINT32), "u64": ("uint64", TensorProto.UINT64),
    "bool": ("bool", TensorProto.BOOL)}  # fmt: skip
OTHERS = ("i64", "bool", "f32")  # what operands of other variables are, the first that may be
ATTRIBUTES = {"kernel_shape": [1, 1], "to": TensorProto.FLOAT, "equation": "ij,jk->ik"}


def allowed(schema, variable):
    """The types that a variable of an operator's types may be."""
    found = [c.allowed_type_strs for c in schema.type_constraints if c.type_param_str == variable]
    names = found[0] if found else [variable]
    return [t for t, (name, _) in TYPES.items() if f"tensor({name})" in names]


def model(schema, variable, dtype):
    """A model of one node, whose operands of a variable have a type; None where others have none
    that is tried here."""
    variadic = schema.inputs[-1].option == schema.FormalParameterOption.Variadic
    given = []
    for k in range(max(schema.min_input, 2 * variadic)):
        formal = schema.inputs[min(k, len(schema.inputs) - 1)]
        types = [dtype] if formal.type_str == variable else allowed(schema, formal.type_str)
        fitting = [t for t in (dtype, *OTHERS) if t in types]
        if not fitting:
            return None
        given.append(helper.make_tensor_value_info(f"x{k}", TYPES[fitting[0]][1], None))
    made = [onnx.ValueInfoProto(name=f"y{k}") for k in range(max(schema.min_output, 1))]
    attributes = {a: ATTRIBUTES.get(a, 0) for a, of in schema.attributes.items() if of.required}
    if schema.name == "Mod" and dtype[0] in "fb" and dtype != "bool":
        attributes["fmod"] = 1
    node = helper.make_node(schema.name, [x.name for x in given], [y.name for y in made],
                            **attributes)
    graph = helper.make_graph([node], "one", given, made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)


def missing():
    """operator -> the types without a kernel."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    found = collections.defaultdict(list)
    for name in sorted({s.name for s in onnx.defs.get_all_schemas() if not s.domain}):
        try:
            schema = onnx.defs.get_schema(name, OPSET, "")
        except onnx.defs.SchemaError:
            continue
        if schema.deprecated or not schema.inputs:
            continue
        variable = schema.inputs[1 if name == "Where" else 0].type_str
        for dtype in allowed(schema, variable):
            proto = model(schema, variable, dtype)
            try:
                proto and onnxruntime.InferenceSession(
                    proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
            except Exception as e:
                if "NOT_IMPLEMENTED" in str(e):
                    found[name].append(dtype)
    return found


if __name__ == "__main__":
    for operator, types in missing().items():
        print(f"{operator}: {' '.join(types)}")
