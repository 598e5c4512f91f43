"""`whet.summary`: what a model is made of, and what a call of it takes, layer by layer.

One call is made, in eval mode and without gradients, with the profiler listening. What ran inside
of a module's `forward` belongs to that module and to those around it.
"""
import html
from dataclasses import dataclass, field

from .autograd.modes import no_grad
from .profiler import profile, record_function
from .random import fork_rng
from .tensor import Tensor

MARK = "whet.summary "


@dataclass
class Layer:
    """A module as one call met it. Figures are of the module with all that is in it."""
    name: str                    # its place: "layer1.0.conv1"; "" for the model
    kind: str                    # its class
    depth: int
    parameters: int              # a parameter in two places counts once
    trainable: int
    outputs: list = field(default_factory=list)    # the sizes of each tensor that it gave
    output_bytes: int = 0        # of those tensors
    flops: int = 0               # floating point operations: a product and its sum are two
    made_bytes: int = 0          # of what all ops in it made, freed or not
    calls: int = 0


@dataclass
class Summary:
    """What `summary` found: `layers` in the order of their first call, the model first."""
    layers: list
    parameter_bytes: int
    buffer_bytes: int
    input_bytes: int

    parameters = property(lambda self: self.layers[0].parameters)
    trainable = property(lambda self: self.layers[0].trainable)
    flops = property(lambda self: self.layers[0].flops)
    made_bytes = property(lambda self: self.layers[0].made_bytes)

    def cells(self):
        """The table's rows as texts."""
        for layer in self.layers:
            name = layer.name.rpartition(".")[2]
            label = f"{name}: {layer.kind}" if name else layer.kind
            shapes = ", ".join("x".join(map(str, s)) or "1" for s in layer.outputs)
            yield (layer.depth, label, shapes or "-", f"{layer.parameters:,}",
                   amount(layer.flops, "flop"), amount(layer.output_bytes, "B"))

    def facts(self):
        """The lines below the table."""
        yield f"parameters: {self.parameters:,} ({self.trainable:,} trainable)"
        yield f"operations: {amount(self.flops, 'flop')}"
        yield (f"memory: {amount(self.parameter_bytes, 'B')} parameters, "
               f"{amount(self.buffer_bytes, 'B')} buffers, {amount(self.input_bytes, 'B')} inputs, "
               f"{amount(self.made_bytes, 'B')} made on the way")

    def __str__(self):
        rows = [TITLES, *(("  " * depth + label, *rest) for depth, label, *rest in self.cells())]
        widths = [max(len(row[i]) for row in rows) for i in range(len(TITLES))]
        lines = ["  ".join(f"{c:<{w}}" if i < 2 else f"{c:>{w}}"
                           for i, (c, w) in enumerate(zip(row, widths))).rstrip() for row in rows]
        rule = "-" * (sum(widths) + 2 * len(widths) - 2)
        return "\n".join([lines[0], rule, *lines[1:], rule, *self.facts()])

    __repr__ = __str__

    def _repr_html_(self):
        head = "".join(f"<th>{title}</th>" for title in TITLES)
        body = "".join(
            f'<tr><td style="text-align: left; padding-left: {1 + depth}em">{html.escape(label)}'
            f'</td>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>'
            for depth, label, *rest in self.cells())
        return (f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
                f"<p>{'<br>'.join(map(html.escape, self.facts()))}</p>")


TITLES = "layer", "output", "parameters", "operations", "output's bytes"


def amount(x, unit):
    """A number of things with three digits."""
    for power, prefix in ((12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if x >= 10 ** power:
            return f"{x / 10 ** power:.3g} {prefix}{unit}"
    return f"{x} {unit}"


def tensors(x):
    """The tensors in a nest of containers."""
    if isinstance(x, Tensor):
        yield x
    elif isinstance(x, dict):
        for y in x.values():
            yield from tensors(y)
    elif isinstance(x, tuple | list):
        for y in x:
            yield from tensors(y)


def size_in_bytes(ts):
    """The bytes of all these tensors together."""
    return sum(t.numel() * t.element_size() for t in ts)


class Listener:
    """Hooks on all modules of a model: spans for the profiler, and what each module gave."""

    def __init__(self, model):
        self.layers, self.spans, self.handles = {}, [], []
        for name, module in model.named_modules():
            own = list(module.parameters())
            self.layers[name] = Layer(
                name, type(module).__name__, name.count(".") + bool(name),
                sum(p.numel() for p in own), sum(p.numel() for p in own if p.requires_grad))
            self.handles += [
                module.register_forward_pre_hook(self.begins(name)),
                module.register_forward_hook(self.ends(name), always_call=True)]
        self.met = []

    def begins(self, name):
        """What is called before a module's `forward`."""
        def hook(module, args):
            if not self.layers[name].calls:
                self.met.append(name)
            self.layers[name].calls += 1
            self.spans.append(record_function(MARK + name))
            self.spans[-1].__enter__()
        return hook

    def ends(self, name):
        """What is called after a module's `forward`."""
        def hook(module, args, result):
            self.spans.pop().__exit__(None, None, None)
            outputs = list(tensors(result))
            self.layers[name].outputs = [tuple(t.shape) for t in outputs]
            self.layers[name].output_bytes = size_in_bytes(outputs)
        return hook

    def close(self):
        """Take the hooks off."""
        for handle in self.handles:
            handle.remove()

    def count(self, events):
        """Add what ops did to the modules in which they ran."""
        for e in events:
            if e.kind != "op":
                continue
            around = e.cpu_parent
            if around is not None and around.kind == "op":
                continue         # a part of an op that is counted
            while around is not None:
                if around.name.startswith(MARK):
                    layer = self.layers[around.name[len(MARK):]]
                    layer.flops += e.flops
                    layer.made_bytes += e.cpu_memory_usage
                around = around.cpu_parent


def summary(model, *args, **kwargs):
    """The layers of a model, with the sizes of their results, parameters, floating point operations
    and memory, as a call with these arguments shows them.

    >>> import whet
    >>> from whet import nn
    >>> s = whet.summary(nn.Sequential(nn.Linear(4, 8), nn.Flatten()), whet.zeros(2, 4))
    >>> s.parameters, s.flops, s.layers[1].outputs
    (40, 144, [(2, 8)])
    """
    training = [(m, m.training) for m in model.modules()]
    listener = Listener(model)
    try:
        model.eval()
        with no_grad(), fork_rng(), profile(with_flops=True, profile_memory=True) as p:
            model(*args, **kwargs)
    finally:
        listener.close()
        for module, was in training:
            module.training = was
    listener.count(p.events())
    return Summary([listener.layers[name] for name in listener.met],
                   size_in_bytes(model.parameters()), size_in_bytes(model.buffers()),
                   size_in_bytes(tensors((args, kwargs))))
