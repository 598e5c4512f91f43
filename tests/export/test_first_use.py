"""The first export of a process: modules of ours are imported while it is recorded."""

import os
import subprocess
import sys

CODE = """
import whet
from whet import nn
words, layer = nn.Embedding(11, 8), nn.LSTM(8, 12, batch_first=True)
with whet.no_grad():
    whet.export(lambda x: layer(words(x))[0][:, -1], whet.randint(11, (2, 7)))
"""


def test_what_is_imported_on_the_way_refuses_nothing():
    env = {**os.environ, "WHET_CACHE": "0"}
    done = subprocess.run([sys.executable, "-c", CODE], env=env, capture_output=True, text=True)
    assert not done.returncode, done.stderr
