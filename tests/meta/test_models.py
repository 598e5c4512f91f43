"""Models on `meta`: made, looked at, run and trained without memory, then given their weights."""
import contextlib
import copy
import pickle
import warnings

import pytest
import whet
from whet import nn, optim
from whet.jit import trace


class Rotary(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("rates", 1e4 ** -(whet.arange(0, size, 2).float() / size),
                             persistent=False)


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.attend = nn.MultiheadAttention(size, 2, batch_first=True)
        self.norm, self.rotary = nn.LayerNorm(size), Rotary(size)
        self.scale = nn.Parameter(nn.init.normal_(whet.empty(size)))

    def forward(self, x):
        x = self.norm(x)
        return x + self.attend(x, x, x, need_weights=False)[0] * self.scale


class Language(nn.Module):
    """Like a language model of a library: with tied weights and a buffer that no file has."""

    def __init__(self, words=20, size=8, layers=2):
        super().__init__()
        self.words = nn.Embedding(words, size)
        self.layers = nn.ModuleList([Block(size) for _ in range(layers)])
        self.head = nn.Linear(size, words, bias=False)
        self.tie()

    def tie(self):
        self.head.weight = self.words.weight

    def forward(self, words):
        x = self.words(words)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


WORDS = whet.tensor([[1, 2, 3], [4, 5, 6]])


@contextlib.contextmanager
def empty_weights():
    """As Accelerate's `init_empty_weights` does it: each parameter goes to `meta` as it comes."""
    before = nn.Module.register_parameter

    def register(module, name, parameter):
        before(module, name, parameter)
        if parameter is not None:
            cls = type(module._parameters[name])
            options = module._parameters[name].__dict__
            options["requires_grad"] = parameter.requires_grad
            module._parameters[name] = cls(module._parameters[name].to("meta"), **options)
    nn.Module.register_parameter = register
    try:
        yield
    finally:
        nn.Module.register_parameter = before


def put(module, name, value):
    """As Accelerate's `set_module_tensor_to_device`."""
    *path, last = name.split(".")
    for part in path:
        module = getattr(module, part)
    old = module._parameters[last]
    module._parameters[last] = type(old)(value, requires_grad=old.requires_grad)


def test_weights_as_accelerate_gives_them():
    real = Language()
    with empty_weights():
        model = Language()
    assert all(p.is_meta for p in model.parameters())
    assert all(b.is_cpu for b in model.buffers())
    for name, value in real.state_dict().items():
        if name != "head.weight":
            put(model, name, value)
    model.tie()
    assert whet.equal(model(WORDS), real(WORDS))


def test_weights_as_transformers_gives_them():
    real = Language()
    before = whet.get_rng_state()
    with whet.device("meta"):
        model = Language()
    assert whet.equal(before, whet.get_rng_state())
    assert all(t.is_meta for t in (*model.parameters(), *model.buffers()))
    assert model.head.weight is model.words.weight
    for name, value in real.state_dict().items():
        module = model.get_submodule(name.rpartition(".")[0])
        module.load_state_dict({name.rpartition(".")[2]: value}, strict=False, assign=True)
    model.tie()
    for module in model.modules():
        for name, b in module.named_buffers(recurse=False):
            if b.is_meta:
                module.register_buffer(name, whet.empty_like(b, device="cpu"), persistent=False)
    assert not any(t.is_meta for t in (*model.parameters(), *model.buffers()))
    assert whet.equal(model(WORDS), real(WORDS))


def test_to_empty_then_weights():
    real = Language()
    model = Language().to("meta")
    with pytest.raises(NotImplementedError, match="Please use whet.nn.Module.to_empty"):
        model.to("cpu")
    model.to_empty(device="cpu")
    assert all(t.is_cpu for t in (*model.parameters(), *model.buffers()))
    assert model.head.weight is model.words.weight
    model.load_state_dict(real.state_dict())
    assert whet.equal(model(WORDS), real(WORDS))


def test_state_dicts():
    real, model = nn.Linear(2, 3), nn.Linear(2, 3, device="meta")
    with pytest.warns(UserWarning, match="weight: copying from a non-meta parameter in the check"):
        model.load_state_dict(real.state_dict())
    assert model.weight.is_meta
    before = real.weight.clone()
    with pytest.raises(RuntimeError, match='named "weight": it is on meta'):
        real.load_state_dict({"bias": whet.ones(3), "weight": model.weight})
    assert whet.equal(real.weight, before) and not whet.equal(real.bias, whet.ones(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nn.Linear(2, 3, device="meta").load_state_dict(model.state_dict())
        model.load_state_dict(real.state_dict(), assign=True)
    assert whet.equal(model.weight, real.weight) and model.weight.requires_grad
    for made in (copy.deepcopy(nn.Linear(2, 3, device="meta")),
                 pickle.loads(pickle.dumps(nn.Linear(2, 3, device="meta")))):
        assert made.weight.is_meta and isinstance(made.weight, nn.Parameter)


LAYERS = [
    (lambda d: nn.Linear(4, 5, device=d), (2, 4)),
    (lambda d: nn.Conv2d(4, 6, 3, padding=1, device=d), (2, 4, 8, 8)),
    (lambda d: nn.ConvTranspose2d(4, 6, 3, stride=2, device=d), (2, 4, 8, 8)),
    (lambda d: nn.BatchNorm2d(4, device=d), (2, 4, 8, 8)),
    (lambda d: nn.GroupNorm(2, 4, device=d), (2, 4, 8)),
    (lambda d: nn.RMSNorm(4, device=d), (2, 4)),
    (lambda d: nn.LSTM(4, 5, 2, bidirectional=True, device=d), (3, 2, 4)),
    (lambda d: nn.GRU(4, 5, device=d), (3, 2, 4)),
    (lambda d: nn.RNN(4, 5, device=d), (3, 2, 4)),
    (lambda d: nn.LSTMCell(4, 5, device=d), (2, 4)),
    (lambda d: nn.TransformerEncoderLayer(4, 2, 8, device=d, dropout=0.0), (3, 2, 4)),
    (lambda d: nn.MaxPool2d(2, return_indices=True), (2, 4, 8, 8)),
    (lambda d: nn.AdaptiveAvgPool2d((2, 3)), (2, 4, 8, 8)),
    (lambda d: nn.Upsample(scale_factor=2, mode="bilinear"), (2, 4, 8, 8)),
    (lambda d: nn.utils.parametrizations.weight_norm(nn.Linear(4, 5, device=d)), (2, 4))]


def all_told(x):
    if isinstance(x, tuple | list):
        return [all_told(y) for y in x]
    return x if x is None else (x.dtype, x.shape, x.stride(), x.requires_grad)


@pytest.mark.parametrize("k", range(len(LAYERS)))
@pytest.mark.parametrize("training", [True, False])
def test_layers(k, training):
    """Results and gradients are like those of the CPU."""
    make, shape = LAYERS[k]
    found = []
    for device in ("cpu", "meta"):
        layer, x = make(device).train(training), whet.randn(*shape, device=device,
                                                            requires_grad=True)
        y = layer(x)
        parts = [p for p in (y if isinstance(y, tuple) else (y,))
                 if whet.is_tensor(p) and p.requires_grad]
        sum(p.sum() for p in parts).backward()
        found.append([all_told(y), *[all_told(p.grad) for p in (x, *layer.parameters())]])
        assert x.grad.device.type == device
    assert found[0] == found[1]


F = nn.functional
LOSSES = [
    lambda x, y: F.cross_entropy(x, y), lambda x, y: F.nll_loss(x, y),
    lambda x, y: F.cross_entropy(x, y, ignore_index=1, label_smoothing=0.1),
    lambda x, y: F.mse_loss(x, x * 2), lambda x, y: F.binary_cross_entropy(x.sigmoid(), x),
    lambda x, y: F.binary_cross_entropy_with_logits(x, x), lambda x, y: F.kl_div(x, x),
    lambda x, y: F.gaussian_nll_loss(x, x, x), lambda x, y: F.multi_margin_loss(x, y),
    lambda x, y: F.one_hot(y, 5), lambda x, y: F.embedding(y, x), lambda x, y: x // y[:, None]]


@pytest.mark.parametrize("loss", LOSSES)
def test_what_looks_at_its_numbers_first(loss):
    """Checks of numbers pass where there are none."""
    x = whet.empty(4, 5, device="meta")
    assert loss(x, whet.empty(4, dtype=whet.int64, device="meta")).is_meta


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta",
                                  "Adamax", "NAdam", "RAdam", "ASGD", "Rprop"])
def test_optimizers(name):
    with whet.device("meta"):
        model = Language()
        steps = getattr(optim, name)(model.parameters(), lr=0.1)
        words = whet.ones(2, 3, dtype=whet.int64)
    for _ in range(2):
        steps.zero_grad()
        loss = F.cross_entropy(model(words).flatten(0, 1), words.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        steps.step()
    assert loss.is_meta and all(p.is_meta and p._version for p in model.parameters())
    assert all(v.is_meta for v in steps.state[model.words.weight].values()
               if whet.is_tensor(v) and v.ndim)


def test_large_models():
    """One that no machine here has memory for."""
    with whet.device("meta"):
        model = Language(words=100_000, size=16_384, layers=8)
        words = whet.ones(1, 2048, dtype=whet.int64)
    assert model(words).shape == (1, 2048, 100_000)
    count = sum(p.numel() for p in model.parameters())
    assert count > 10**10 and f"{count:,}" in str(whet.summary(model, words))


def test_first_values():
    """Functions of nn.init go through, and draw nothing (but for places, which sparse_ picks)."""
    before = whet.get_rng_state()
    w = whet.empty(6, 4, device="meta")
    for init in (nn.init.uniform_, nn.init.normal_, nn.init.trunc_normal_, nn.init.xavier_uniform_,
                 nn.init.xavier_normal_, nn.init.kaiming_uniform_, nn.init.kaiming_normal_,
                 nn.init.orthogonal_, nn.init.eye_, nn.init.zeros_, nn.init.ones_):
        assert init(w) is w
    assert nn.init.constant_(w, 2) is w
    assert nn.init.orthogonal_(whet.empty(9000, 8000, device="meta")).is_meta
    assert whet.equal(before, whet.get_rng_state())
    assert nn.init.sparse_(w, 0.5) is w
    assert nn.utils.skip_init(nn.Linear, 2, 3, device="meta").weight.is_meta


def test_traced_functions_run_eagerly_and_say_so():
    @trace
    def f(x):
        return (x * 2 + 1).sum(-1)
    t, x = whet.empty(3, 4, device="meta"), whet.ones(3, 4)
    with pytest.warns(UserWarning, match="tensors on 'meta', which have no elements") as said:
        for _ in range(6):
            assert f(t).is_meta and f(t).shape == (3,)
    assert len([w for w in said if "meta" in str(w.message)]) == 1
    for _ in range(6):
        assert f(x).tolist() == [12.0] * 3
        assert f(t).is_meta
    assert "on 'meta'" in str(f.explain(full=True))


def test_traced_functions_that_make_such_tensors():
    @trace
    def f(x):
        like = nn.Linear(4, 2, device="meta")
        return x * 2, like.weight
    with pytest.warns(UserWarning, match="tensors on 'meta'"):
        for _ in range(6):
            y, w = f(whet.ones(2))
            assert y.tolist() == [2.0, 2.0] and w.is_meta and w.shape == (2, 4)
