"""The residual blocks of ResNet-50's four stages (1x1, 3x3, 1x1, batch norms, residual), batch
1, eval: traced, beside PyTorch and ONNX Runtime."""
import os

import numpy as np

from .harness import Table, peer, threads, timings

# channels, inner ones, size
STAGES = {
    "56x56": (256, 64, 56),
    "28x28": (512, 128, 28),
    "14x14": (1024, 256, 14),
    "7x7": (2048, 512, 7)}
EPS = 1e-5


def parameters(rng, c, m):
    """(weight, [scale, bias, mean, variance]) of the three convolutions and their norms."""
    out = []
    for rows, cols, k in ((m, c, 1), (m, m, 3), (c, m, 1)):
        w = rng.standard_normal((rows, cols, k, k)) / np.sqrt(cols * k * k)
        norm = [
            rng.uniform(0.5, 1.5, rows),
            rng.standard_normal(rows),
            rng.standard_normal(rows),
            rng.uniform(0.5, 1.5, rows)]
        out.append((w.astype("f4"), [a.astype("f4") for a in norm]))
    return out


def module(lib, layers):
    """The block as a module of PyTorch or whet."""
    nn = lib.nn

    class Block(nn.Module):
        def __init__(self, layers):
            super().__init__()
            self.convs, self.norms = nn.ModuleList(), nn.ModuleList()
            for w, norm in layers:
                conv, bn = (nn.Conv2d(w.shape[1], w.shape[0], w.shape[2], padding=w.shape[2] // 2,
                                      bias=False), nn.BatchNorm2d(w.shape[0], EPS))
                with lib.no_grad():
                    for p, a in zip(
                        (conv.weight, bn.weight, bn.bias, bn.running_mean, bn.running_var),
                        (w, *norm)):
                        p.copy_(lib.tensor(a))
                self.convs.append(conv)
                self.norms.append(bn)

        def forward(self, x):
            relu = nn.functional.relu
            y = relu(self.norms[0](self.convs[0](x)))
            y = relu(self.norms[1](self.convs[1](y)))
            return relu(self.norms[2](self.convs[2](y)) + x)
    return Block(layers).eval()


def session(ort, layers, shape, count):
    """The block as a session of ONNX Runtime, which folds the norms into the convolutions
    itself."""
    from onnx import TensorProto, helper, numpy_helper
    nodes, constants, name = [], [], "x"
    for i, (w, norm) in enumerate(layers):
        named = [f"{what}{i}" for what in ("w", "scale", "bias", "mean", "var")]
        constants += [numpy_helper.from_array(a, n) for a, n in zip((w, *norm), named)]
        nodes.append(
            helper.make_node("Conv", [name, named[0]], [f"c{i}"], kernel_shape=w.shape[2:],
                             pads=[w.shape[2] // 2] * 4))
        nodes.append(
            helper.make_node("BatchNormalization", [f"c{i}", *named[1:]], [f"n{i}"], epsilon=EPS))
        name = f"n{i}"
        if i == len(layers) - 1:
            nodes.append(helper.make_node("Add", [name, "x"], ["sum"]))
            name = "sum"
        nodes.append(helper.make_node("Relu", [name], [f"r{i}"]))
        name = f"r{i}"
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in ("x", name)]
    model = helper.make_model(helper.make_graph(nodes, "block", ends[:1], ends[1:], constants),
                              opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = count, 1
    return ort.InferenceSession(model.SerializeToString(),
                                options,
                                providers=["CPUExecutionProvider"])


def main():
    """Measure and write the table."""
    import whet
    import whet.jit
    torch, ort, onnx = peer("torch"), peer("onnxruntime"), peer("onnx")
    table = Table("blocks",
                  "residual blocks of ResNet-50, f32, batch 1, eval; whet is traced",
                  ["torch", "onnxruntime"])
    rng = np.random.default_rng(0)
    for count in dict.fromkeys((threads(), os.cpu_count() or 1)):
        whet.set_num_threads(count)
        if torch:
            torch.set_num_threads(count)
        for name, (c, m, size) in STAGES.items():
            layers, shape = parameters(rng, c, m), (1, c, size, size)
            a = rng.standard_normal(shape).astype("f4")
            block, x = module(whet, layers), whet.tensor(a)
            traced = whet.jit.trace(block)
            with whet.no_grad():
                wanted = block(x).numpy()
                for _ in range(3):
                    assert (
                        traced(x).numpy().tobytes() == wanted.tobytes()), "traced and eager differ"
            fns = {"whet": _quiet(whet.no_grad, traced, x), "eager": _quiet(whet.no_grad, block, x)}
            if torch:
                fns["torch"] = _quiet(torch.no_grad, module(torch, layers), torch.tensor(a))
                np.testing.assert_allclose(fns["torch"]().numpy(), wanted, rtol=1e-3, atol=1e-3)
            if ort and onnx:
                run = session(ort, layers, shape, count).run
                fns["onnxruntime"] = lambda run=run, a=a: run(None, {"x": a})[0]
                np.testing.assert_allclose(fns["onnxruntime"](), wanted, rtol=1e-3, atol=1e-3)
            table.add(f"{name}, {c} channels, {count} thread(s)",
                      timings(fns, 0.6, 15, several=count > 1))
    table.finish()


def _quiet(no_grad, f, x):
    """A call without history."""
    def call():
        with no_grad():
            return f(x)
    return call
