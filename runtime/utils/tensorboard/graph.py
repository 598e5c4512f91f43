"""The graph of a model as TensorBoard draws it (TensorFlow's `GraphDef`)."""
import contextlib

from . import wire

PRODUCER = 22                    # the version of the format


@contextlib.contextmanager
def _evaluating(model):
    """Modules that behave otherwise in training are recorded as they are used after it."""
    modules = [m for m in model.modules() if m.training] if hasattr(model, "modules") else []
    for module in modules:
        module.training = False
    try:
        yield
    finally:
        for module in modules:
            module.training = True


def _node(name, op, inputs, shapes):
    sizes = b"".join(
        wire.block(7, b"".join(wire.block(2, wire.whole(1, n)) for n in shape))
        for shape in shapes)
    attributes = wire.entries(5, [("_output_shapes", wire.block(1, sizes))])
    return wire.block(1, wire.block(1, name) + wire.block(2, op)
                      + b"".join(wire.block(3, i) for i in inputs) + attributes)


def definition(model, inputs):
    """The `GraphDef` of what a model computes from example inputs."""
    from ... import jit
    inputs = () if inputs is None else inputs if isinstance(inputs, tuple | list) else (inputs,)
    with _evaluating(model):
        graph = jit.export.export(model, *inputs).graph
    names, out = {}, []
    for x in graph.inputs:
        names[x.value] = x.name.replace(".", "/")
        kind = "Parameter" if x.outside else "Input"
        out.append(_node(names[x.value], kind, [], [graph.types[x.value].shape]))
    for number, node in enumerate(graph.nodes):
        name = f"{'_'.join(node.names)}_{number}"
        reads = [names[v] for v in dict.fromkeys(map(int, node.touched())) if v in names]
        shapes = [graph.types[v].shape for v in node.outs]
        out.append(_node(name, "whet::" + "_".join(node.names), reads, shapes))
        names.update((v, f"{name}:{i}" if i else name) for i, v in enumerate(node.outs))
        # What is written in place is read from the node that wrote it.
        names.update((int(v), name) for v in node.written())
    for value, called in graph.results:
        out.append(_node(f"result/{called}", "Output", [names[value]],
                         [graph.types[value].shape]))
    return b"".join(out) + wire.block(4, wire.whole(1, PRODUCER))
