"""Runs ONNX models in ONNX Runtime, in a process of another Python: whet and its tests need none.

As a script it is that process: a line of JSON says which model, and which file has its inputs.
"""

import json
import os
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PEERS = os.path.join(HERE, ".venv-peers", "bin", "python")  # of `make peers`


class Runtime:
    """A process that runs models. `python` is one that has ONNX Runtime."""

    def __init__(self, python=PEERS):
        self.process = subprocess.Popen(
            [python, os.path.abspath(__file__)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True)

    @staticmethod
    def is_there(python=PEERS):
        """Is there such a Python?"""
        return os.path.exists(python) and not subprocess.run(
            [python, "-c", "import onnxruntime"], capture_output=True).returncode

    def run(self, model, inputs, folder):
        """The results of a model for arrays; files are put into the folder."""
        given, made = (os.path.join(folder, f"{x}.npz") for x in ("given", "made"))
        np.savez(given, *inputs)
        self.process.stdin.write(json.dumps([os.fspath(model), given, made]) + "\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline().strip()
        if said != "done":
            raise RuntimeError(said or "ONNX Runtime ended")
        with np.load(made) as f:
            return [f[k] for k in f.files]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def main():
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    sessions = {}
    for line in sys.stdin:
        model, given, made = json.loads(line)
        try:
            if model not in sessions:
                sessions = {model: onnxruntime.InferenceSession(
                    model, options, providers=["CPUExecutionProvider"])}
            names = [x.name for x in sessions[model].get_inputs()]
            with np.load(given) as f:
                feed = dict(zip(names, [f[k] for k in f.files]))
            np.savez(made, *sessions[model].run(None, feed))
            print("done", flush=True)
        except Exception as e:
            print(str(e).replace("\n", " ") or repr(e), flush=True)


if __name__ == "__main__":
    main()
