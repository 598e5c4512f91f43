"""Exported networks, f32 and bytes, as libraries for C and in memory, beside ONNX Runtime and
OpenVINO on the ONNX files that we write; one thread and two.

    python -m benchmarks.exported [names] [--bytes] [--threads 1 2] [--least] [--busy]

`--bytes` measures networks of bytes: the same ones, quantised by their inputs. There `f32` is the
library of the first, and others run the model between QuantizeLinear and DequantizeLinear.
`--least` tells least times in place of medians: what is left of a machine that others use, too.
`--busy` is for a machine that others use most of: least times of the processor, one thread, which
leave out what a call waited for.
"""
import argparse
import ctypes as C
import os
import statistics
import tempfile
import time

import numpy as np

from .harness import Table, peer, timings

CLOSE = 1e-3                     # of others' results, against a result's largest number
# the same of bytes: others round sums that lie between two bytes as they like
CLOSE_BYTES = 5e-2
OF_BYTES = "ResNet-18", "ResNet-50", "MobileNetV2"


class Library:
    """A library for C, whose buffers stay: a call is one call of C."""

    def __init__(self, path, count):
        from examples.library.call import Buffer, Model
        self.model = Model(path, threads=count)
        self.results = [np.empty(s, d) for _, d, s in self.model.results]
        self.buffer = Buffer

    def call(self, arrays):
        """A function of no arguments that computes the results of some inputs."""
        given, made = ((self.buffer * len(a))(*[self.buffer(x.ctypes.data, x.nbytes) for x in a])
                       for a in (arrays, self.results))
        run, context = self.model.function("run"), self.model.context
        sizes = C.c_int64(len(arrays)), C.c_int64(len(self.results))

        def call():
            self.model.check(run(context, given, sizes[0], made, sizes[1]))
            return self.results
        return call


def onnx_runtime(path, arrays, count):
    """The same in ONNX Runtime."""
    ort = peer("onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = count, 1
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {x.name: a for x, a in zip(session.get_inputs(), arrays)}
    return lambda: session.run(None, feed)


def open_vino(path, arrays, count):
    """The same in OpenVINO, with the precision of the file."""
    core = peer("openvino").Core()
    how = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": count, "NUM_STREAMS": 1,
           "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(path, "CPU", how).create_infer_request()
    for i, a in enumerate(arrays):
        request.get_input_tensor(i).data[:] = a
    outs = [request.get_output_tensor(i) for i in range(len(request.model_outputs))]

    def call():
        request.infer()
        return [o.data for o in outs]
    return call


PEERS = {"onnxruntime": onnx_runtime, "openvino": open_vino}


def library(exported, path, count, level="x86-64-v4"):
    """An exported network as a library with so many threads, for one level of processors."""
    exported.compile(path, threads=count, target=level)
    return Library(path, count)


def contenders(name, folder, count, of_bytes=False):
    """{who: a function of no arguments}, all with so many threads; their results are compared."""
    import whet
    from whet import quantize
    from whet.passes.lower_llvm import targets

    from .networks import network
    whet.set_num_threads(count)
    net, inputs = network(name)
    with whet.no_grad():
        exported = whet.export(net, *inputs)
    arrays = [x.numpy() for x in inputs]
    so, onnx = (os.path.join(folder, f"model.{end}") for end in ("so", "onnx"))
    fns, level, close = {}, "x86-64-v4", CLOSE
    if of_bytes:
        plain = library(exported, os.path.join(folder, "f32.so"), count)
        fns["f32"] = plain.call(arrays)
        exported, close = quantize.static(net, [inputs]), CLOSE_BYTES
        level += "-vnni" * targets.has("avx512_vnni")
    exported.to_onnx(onnx, **dict(qdq=True) if of_bytes else {})
    fns |= {"whet": library(exported, so, count, level).call(arrays),
            "in memory": lambda: exported.run(arrays)}
    fns |= {k: f(onnx, arrays, count) for k, f in PEERS.items() if peer(k)}
    wanted = exported.run(arrays)
    for who, f in fns.items():
        for a, b in zip(f(), wanted, strict=True):
            assert np.abs(a - b).max() <= close * np.abs(b).max(), f"{name}: {who} differs"
    return fns


def main(given=()):
    """Measure and write the table."""
    from .networks import NETWORKS
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--least", action="store_true")
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--bytes", action="store_true")
    args = parser.parse_args(given)
    of, said = (min, "least times") if args.least else (statistics.median, "medians")
    clock = time.perf_counter
    if args.busy:
        of, clock, args.threads = min, time.process_time, [1]
        said = "the machine was busy: least times of the processor"
    name, kind = ("exported_bytes", "bytes") if args.bytes else ("exported", "f32")
    title = f"exported networks, {kind}; whet is a library for C"
    table = Table(name, title, list(PEERS), figures=said)
    for count in args.threads:
        for net in args.names or (OF_BYTES if args.bytes else NETWORKS):
            with tempfile.TemporaryDirectory() as folder:
                fns = contenders(net, folder, count, args.bytes)
                table.add(f"{net}, {count} thread(s)", timings(fns, 0.6, 15, count > 1, of, clock))
    table.finish()


if __name__ == "__main__":
    import sys
    main(sys.argv[1:])
