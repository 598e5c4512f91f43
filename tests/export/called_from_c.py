"""Runs the library of any model from a program in C, each call in a process of its own."""

import os
import shutil
import subprocess

import numpy as np

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "any_model.c")


def compiler():
    """A compiler of C, or None."""
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


class Program:
    """The program for a library, `model.so`, whose header lies beside it. `sizes`: how many sizes
    of the model differ."""

    def __init__(self, library, sizes):
        self.folder = os.path.dirname(os.path.abspath(library))
        self.path = os.path.join(self.folder, "any_model")
        options = [f"-DSIZES={sizes}", f"-I{self.folder}", f"-Wl,-rpath,{self.folder}"]
        warnings = ["-Wall", "-Wextra", "-Werror"]
        command = [compiler(), "-O1", *warnings, *options, SOURCE, library, "-o", self.path]
        self.run(command)

    def run(self, command):
        """What a command prints; ValueError with its words where it fails."""
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise ValueError(f"{done.stderr.strip()} (exit code {done.returncode})")
        return done.stdout

    def __call__(self, *arrays, sizes=()):
        """The results for some arrays, and for the sizes that differ."""
        inputs = [os.path.join(self.folder, f"in{i}.bin") for i in range(len(arrays))]
        for path, a in zip(inputs, arrays):
            np.ascontiguousarray(a).tofile(path)
        results = [os.path.join(self.folder, f"out{i}.bin") for i in range(self.count())]
        said = self.run([self.path, *map(str, sizes), *inputs, *results])
        made = []
        for path, line in zip(results, said.splitlines(), strict=True):
            dtype, *shape = line.split()
            made.append(np.fromfile(path, dtype).reshape([int(n) for n in shape]))
        return made

    def count(self):
        """How many results the model has, as its header says."""
        with open(os.path.join(self.folder, "model.h")) as f:
            return int(f.read().split("MODEL_RESULTS = ")[1].split()[0])
