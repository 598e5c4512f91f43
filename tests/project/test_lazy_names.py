"""What a module loads when it is asked for is listed before, and all that is listed is there."""
import ast
import subprocess
import sys

import pytest

MODULES = ["whet", "whet.autograd", "whet.cpu", "whet.cuda", "whet.jit", "whet.nn.attention",
           "whet.onnx", "whet.utils"]
LIST = """
import importlib, sys
module = importlib.import_module(sys.argv[1])
names = dir(module)
print({"names": names, "missing": [n for n in names if not hasattr(module, n)]})
"""


@pytest.mark.parametrize("module", MODULES)
def test_what_dir_lists_is_there(module):
    printed = subprocess.run([sys.executable, "-c", LIST, module], text=True, check=True,
                             capture_output=True)
    found = ast.literal_eval(printed.stdout)
    assert found["missing"] == []
    asked_for = {"whet": "optim", "whet.autograd": "grad", "whet.cpu": "synchronize",
                 "whet.cuda": "nvtx", "whet.jit": "ScriptModule",
                 "whet.nn.attention": "flex_attention", "whet.onnx": "export",
                 "whet.utils": "data"}[module]
    assert asked_for in found["names"]
