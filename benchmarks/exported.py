"""Exported networks, f32, as libraries for C and in memory, beside ONNX Runtime and OpenVINO on the
ONNX files that we write; one thread and two.

    python -m benchmarks.exported [names] [--threads 1 2] [--least]

`--least` tells least times in place of medians: what is left of a machine that others use, too.
"""
import argparse
import ctypes as C
import os
import statistics
import tempfile

import numpy as np

from .harness import Table, peer, timings

CLOSE = 1e-3                     # of others' results, against a result's largest number


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


def contenders(name, folder, count):
    """{who: a function of no arguments}, all with so many threads; their results are compared."""
    import whet

    from .networks import network
    whet.set_num_threads(count)
    net, inputs = network(name)
    with whet.no_grad():
        exported = whet.export(net, *inputs)
    arrays = [x.numpy() for x in inputs]
    paths = [os.path.join(folder, f"model.{end}") for end in ("so", "onnx")]
    exported.compile(paths[0], threads=count, target="x86-64-v4")
    exported.to_onnx(paths[1])
    fns = {"whet": Library(paths[0], count).call(arrays), "in memory": lambda: exported.run(arrays)}
    fns.update({k: f(paths[1], arrays, count) for k, f in PEERS.items() if peer(k)})
    wanted = exported.run(arrays)
    for who, f in fns.items():
        for a, b in zip(f(), wanted, strict=True):
            assert np.abs(a - b).max() <= CLOSE * np.abs(b).max(), f"{name}: {who} differs"
    return fns


def main(given=()):
    """Measure and write the table."""
    from .networks import NETWORKS
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--least", action="store_true")
    args = parser.parse_args(given)
    of, said = (min, "least times") if args.least else (statistics.median, "medians")
    title = "exported networks, f32; whet is a library for C"
    table = Table("exported", title, list(PEERS), figures=said)
    for count in args.threads:
        for name in args.names or NETWORKS:
            with tempfile.TemporaryDirectory() as folder:
                fns = contenders(name, folder, count)
                table.add(f"{name}, {count} thread(s)", timings(fns, 0.6, 15, count > 1, of))
    table.finish()


if __name__ == "__main__":
    import sys
    main(sys.argv[1:])
