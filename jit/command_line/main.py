"""The command's arguments. An error is one line, or a line and a list, and the exit code says what
kind it is."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from . import bench, doctor, exporting, info, library, run

# exit codes: all is well, something is not, the command is not understood
OK, WRONG, USAGE = 0, 1, 2
# errors of which the user is told in a line
FAILURES = OSError, ValueError, RuntimeError, LookupError, TypeError, MemoryError, ImportError


def main(argv: Sequence[str] | None = None) -> int:
    """Do what a command line says; gives the exit code."""
    options = parser().parse_args(argv)
    try:
        return int(options.do(options) or OK)
    except BrokenPipeError:  # the reader of the output has read enough
        sys.stderr.close()
        return OK
    except FAILURES as e:
        first, *rest = (str(e) or type(e).__name__).splitlines()
        print(f"whet {options.command}: {first}", file=sys.stderr)
        if first.endswith(":"):  # what follows is a list of what is wrong
            print("\n".join(rest), file=sys.stderr)
        return WRONG


Adder = Callable[[str, object, str], argparse.ArgumentParser]     # of a command: name, work, help


def parser() -> argparse.ArgumentParser:
    """What the command understands."""
    top = argparse.ArgumentParser(
        prog="whet", description="Look at, run, check and time exported models."
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, do: object, said: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=said, description=said)
        made.set_defaults(do=do)
        return made

    def of_model(name: str, do: object, said: str) -> argparse.ArgumentParser:
        made = command(name, do, said)
        made.add_argument("model", help="an archive or an ONNX file: model.whet, model.onnx")
        return made

    add_looks(of_model)
    add_compile(of_model)
    add_export(command)
    add_quantize(of_model)
    command(
        "doctor",
        doctor.doctor,
        "Say what this machine has, where the cache is, and which versions run.",
    )
    return top


def add_looks(of_model: Adder) -> None:
    """The commands that look at a model, or run it."""
    made = of_model(
        "info", info.info, "Say what is in an archive: signature, graph, weights, rewrites."
    )
    made.add_argument("--graph", action="store_true", help="print the graph, too")
    made = of_model("run", run.run, "Run a model on arrays from .npy and .npz files.")
    made.add_argument(
        "inputs",
        nargs="*",
        metavar="INPUT",
        help="x.npy for each input in order, name=x.npy, or one .npz with an array for each name",
    )
    made.add_argument("-o", "--output", metavar="FILE", help="an .npz, or for one result an .npy")
    of_model(
        "verify",
        run.verify,
        "Run the samples in an archive: they must give the bits that are in it.",
    )
    made = of_model("bench", bench.bench, "Time a model on the sample in it.")
    made.add_argument("--calls", type=int, default=100, help="calls that are timed (100)")
    made.add_argument(
        "--onnx", metavar="FILE", help="the same model for ONNX Runtime, timed in turn"
    )
    made = of_model("view", info.view, "Write a page that shows the graph.")
    made.add_argument(
        "-o", "--output", metavar="FILE", help="an .html; a new file where none is given"
    )


def add_compile(of_model: Adder) -> None:
    """The command that makes a library."""
    made = of_model("compile", library.compile, "Make a library of a model, for C.")
    made.add_argument("-o", "--output", metavar="FILE", required=True, help="model.so or model.o")
    made.add_argument(
        "--target",
        action="append",
        metavar="LEVEL",
        help="host (all levels of this machine's kind), x86-64-v2, x86-64-v3, x86-64-v4 or "
        "aarch64-linux; may be given several times",
    )
    made.add_argument("--name", help="what the names in C begin with, at first that of the file")
    made.add_argument("--beside", action="store_true", help="put the weights into a file beside")
    made.add_argument("--threads", type=int, help="the most threads that a launch takes")


def add_export(command: Adder) -> None:
    """The command that makes archives."""
    made = command(
        "export",
        exporting.export,
        "Write an ONNX file, an archive, or a function or module of a Python module as another.",
    )
    made.add_argument("source", help="model.onnx, model.whet, or package.module:name")
    made.add_argument("inputs", nargs="*", metavar="INPUT", help="the arrays of an example call")
    made.add_argument("-o", "--output", metavar="FILE", required=True,
                      help="model.whet, model.onnx, model.so or model.o")
    made.add_argument("--dynamic", action="append", default=[], metavar="x:0=batch:64",
                      help="a size that differs from call to call, and its largest value")
    made.add_argument("--rewrite", action="append", default=[], metavar="NAME",
                      help="a rewrite that may change bits: fold_batch_norm, ...")


def add_quantize(of_model: Adder) -> None:
    """The command that makes models of bytes."""
    made = of_model(
        "quantize",
        exporting.quantize,
        "Make convolutions and linear layers compute with bytes, and print what it costs.",
    )
    made.add_argument("calls", nargs="*", metavar="CALL",
                      help="typical calls: an .npz with the inputs, or an .npy for the only one; "
                      "none where the file itself says how it is quantised")
    made.add_argument("-o", "--output", metavar="FILE", required=True,
                      help="model.whet, model.onnx, model.so or model.o")
    made.add_argument("--calibrate", default="minmax", choices=["minmax", "percentile", "entropy"])
    made.add_argument("--symmetric", action="store_true", help="zero is the middle byte")
    made.add_argument("--per-tensor", action="store_true", help="one scale for a whole weight")
    made.add_argument("--leave", action="append", default=[], metavar="LAYER",
                      help="a layer that stays as it is, by its name in the report")
