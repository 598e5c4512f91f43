"""Recurrent models for sequences of any length: the function, its archive, its library and its ONNX
model give what the model gives."""

import numpy as np
import pytest
import whet
from whet import nn
from whet.jit import Dim
from whet.jit.export.library import targets

from tests.export import test_library
from tests.export.test_library import CALL, levels


class Tagger(nn.Module):
    """A label for each word, by a recurrent layer."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 6)
        self.layer = nn.GRU(6, 10, num_layers=2, batch_first=True)
        self.out = nn.Linear(10, 4)

    def forward(self, words):
        return self.out(self.layer(self.embed(words))[0])


class Translator(nn.Module):
    """A layer reads a sequence in both directions, another begins with what it ended with."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.LSTM(5, 8, bidirectional=True)
        self.decoder = nn.LSTM(3, 16)
        self.out = nn.Linear(16, 7)

    def forward(self, source, target):
        _, states = self.encoder(source)
        ends = tuple(whet.cat([s[0], s[1]], -1).unsqueeze(0) for s in states)
        return self.out(self.decoder(target, ends)[0])


BATCH, LENGTH, OTHER = (Dim("batch", max=12), Dim("length", min=2, max=40),
                        Dim("other", min=2, max=40))
SIZES = ((3, 7, 5), (2, 2, 9), (12, 40, 33), (5, 17, 2), (4, 9, 40))
MODELS = {
    "tagger": (Tagger, lambda b, n, m: [whet.randint(0, 20, (b, n))],
               {"words": {0: BATCH, 1: LENGTH}}),
    "translator": (Translator, lambda b, n, m: [whet.randn(n, b, 5), whet.randn(m, b, 3)],
                   {"source": {0: LENGTH, 1: BATCH}, "target": {0: OTHER, 1: BATCH}})}


@pytest.fixture(scope="module", params=MODELS)
def exported(request):
    """(the model, its inputs for sizes, what was exported)"""
    make, inputs, dynamic = MODELS[request.param]
    whet.manual_seed(3)
    model = make().eval()
    return model, inputs, whet.export(model, *inputs(3, 7, 5), dynamic=dynamic)


def given(model, inputs):
    """(arguments, what the model gives) at several sizes."""
    for sizes in SIZES:
        args = inputs(*sizes)
        with whet.no_grad():
            yield sizes, args, model(*args).numpy()


def test_the_function_and_its_archive(exported, tmp_path):
    model, inputs, function = exported
    function.save(tmp_path / "model.whet")
    loaded = whet.load(tmp_path / "model.whet")
    loaded.verify()
    for sizes, args, wanted in given(model, inputs):
        for f in (function, loaded):
            assert f(*args).numpy().tobytes() == wanted.tobytes(), sizes


@test_library.pytestmark
def test_the_library(exported, tmp_path):
    """For all lengths of both sequences; the batch varies where that is the only other size.
    Other levels than this machine's best are compiled for one of the models."""
    model, inputs, function = exported
    target = targets.HERE
    if isinstance(model, Translator):
        target = levels()[0]
        inputs = lambda b, n, m, make=inputs: make(3, n, m)  # noqa: E731
        function = whet.export(model, *inputs(3, 7, 5), dynamic={
            "source": {0: LENGTH}, "target": {0: OTHER}})
    function.compile(tmp_path / "model.so", threads=2, target=target)
    library = CALL.Model(tmp_path / "model.so", threads=2)
    names = [name for name, *_ in library.sizes]
    for sizes, args, wanted in given(model, inputs):
        values = dict(zip(("batch", "length", "other"), sizes, strict=True))
        made, = library(*(x.numpy() for x in args), sizes={n: values[n] for n in names})
        assert made.tobytes() == wanted.tobytes(), sizes
    library.close()


def test_the_onnx_model(exported, tmp_path):
    pytest.importorskip("onnx")
    model, inputs, function = exported
    function.to_onnx(tmp_path / "model.onnx")
    read = whet.onnx.load(tmp_path / "model.onnx")
    sessions = []
    try:
        import onnxruntime
        sessions.append(onnxruntime.InferenceSession(tmp_path / "model.onnx"))
    except ImportError:
        pass
    for sizes, args, wanted in given(model, inputs):
        with whet.no_grad():
            found = [read(*args).numpy()]
        for s in sessions:
            names = [x.name for x in s.get_inputs()]
            found += s.run(None, dict(zip(names, (x.numpy() for x in args), strict=True)))
        for made in found:
            np.testing.assert_allclose(made, wanted, rtol=1e-5, atol=1e-6, err_msg=str(sizes))
