"""The networks of `whet.models`: weights that people have fit, traced calls give eager's bits, and
each is exported."""
import math
import subprocess
import sys

import pytest
import whet
from whet import models, nn

from tests.models import keys

VGG = {
    11: "64 M 128 M 256 256 M 512 512 M 512 512 M",
    13: "64 64 M 128 128 M 256 256 M 512 512 M 512 512 M",
    16: "64 64 M 128 128 M 256 256 256 M 512 512 512 M 512 512 512 M",
    19: "64 64 M 128 128 M 256 256 256 256 M 512 512 512 512 M 512 512 512 512 M"}
SMALL_GPT = models.GPTConfig(block_size=32, vocab_size=50, n_layer=2, n_head=4, n_embd=32)


def seq2seq():
    return models.Seq2Seq(models.Encoder(23, 8, 16, 2), models.Decoder(23, 8, 16, 2))


# how each is made, the keys and shapes of its weights, and how many parameters its authors count
KNOWN = {
    "resnet18": (models.resnet18, lambda: keys.resnet((2, 2, 2, 2), False), 11_689_512),
    "resnet34": (models.resnet34, lambda: keys.resnet((3, 4, 6, 3), False), 21_797_672),
    "resnet50": (models.resnet50, lambda: keys.resnet((3, 4, 6, 3), True), 25_557_032),
    "resnet101": (models.resnet101, lambda: keys.resnet((3, 4, 23, 3), True), 44_549_160),
    "resnet152": (models.resnet152, lambda: keys.resnet((3, 8, 36, 3), True), 60_192_808),
    "mobilenet_v2": (models.mobilenet_v2, keys.mobilenet_v2, 3_504_872),
    "mobilenet_v3_large": (models.mobilenet_v3_large,
                           lambda: keys.mobilenet_v3(keys.LARGE, 1280), 5_483_032),
    "mobilenet_v3_small": (models.mobilenet_v3_small,
                           lambda: keys.mobilenet_v3(keys.SMALL, 1024), 2_542_856),
    **{f"vgg{n}": (getattr(models, f"vgg{n}"), lambda n=n: keys.vgg(VGG[n], False), count)
       for n, count in ((11, 132_863_336), (13, 133_047_848), (16, 138_357_544),
                        (19, 143_667_240))},
    **{f"vgg{n}_bn": (getattr(models, f"vgg{n}_bn"), lambda n=n: keys.vgg(VGG[n], True), count)
       for n, count in ((11, 132_868_840), (13, 133_053_736), (16, 138_365_992),
                        (19, 143_678_248))},
    "vit_tiny_patch16_224": (models.vit_tiny_patch16_224, lambda: keys.vit(192, 12, 16), 5_717_416),
    "vit_small_patch16_224": (models.vit_small_patch16_224, lambda: keys.vit(384, 12, 16),
                              22_050_664),
    "vit_base_patch16_224": (models.vit_base_patch16_224, lambda: keys.vit(768, 12, 16),
                             86_567_656),
    "vit_base_patch32_224": (models.vit_base_patch32_224, lambda: keys.vit(768, 12, 32),
                             88_224_232),
    "gpt2": (lambda: models.GPT(models.GPTConfig(vocab_size=50257)),
             lambda: keys.gpt(768, 12, 50257, 1024), 124_439_808),
    "unet": (models.UNet, keys.unet, 31_037_698),
    "seq2seq": (seq2seq, lambda: keys.seq2seq(23, 8, 16, 2), None)}
LOADED = "resnet18", "mobilenet_v2", "mobilenet_v3_small", "vit_tiny_patch16_224", "seq2seq"


class Made(nn.Module):
    """A model that a function makes, as a class."""

    def __init__(self, make, device=None):
        super().__init__()
        self.model = make()


def unfilled(make):
    """A model whose weights nobody has written."""
    return nn.utils.skip_init(Made, make).model


@pytest.mark.parametrize("name", KNOWN)
def test_keys_and_shapes_are_those_that_people_have(name):
    make, wanted, count = KNOWN[name]
    model = unfilled(make)
    found = {key: tuple(t.shape) for key, t in model.state_dict().items()}
    assert found == wanted()
    assert count in (None, sum(p.numel() for p in model.parameters()))


@pytest.mark.parametrize("name", LOADED)
def test_a_file_with_these_keys_loads(name, tmp_path):
    make, wanted, _ = KNOWN[name]
    whet.manual_seed(0)
    weights = {key: whet.randn(shape) if shape else whet.tensor(7)
               for key, shape in wanted().items()}
    whet.save(weights, tmp_path / "weights.safetensors")
    model = make()
    assert model.load_state_dict(whet.load(tmp_path / "weights.safetensors"), strict=True)
    for key, t in model.state_dict().items():
        assert whet.equal(t, weights[key]), key


def image(size, batch=2):
    return lambda: (whet.randn(batch, 3, size, size),)


def words(*shape):
    return lambda: whet.randint(23, shape)


# small ones of each kind, and arguments for them
SMALL = {
    "basic blocks": (lambda: models.resnet18(10, width=8), image(32)),
    "bottlenecks": (lambda: models.ResNet(models.Bottleneck, [1, 2, 1, 1], 10, 8), image(32)),
    "mobilenet_v2": (lambda: models.mobilenet_v2(10, 0.25), image(32)),
    "mobilenet_v3": (lambda: models.mobilenet_v3_small(10, 0.5), image(32)),
    "vgg": (lambda: models.vgg11(10, width=4), image(32)),
    "vgg_bn": (lambda: models.vgg11_bn(10, width=4), image(32)),
    "unet": (lambda: models.UNet(width=4), image(32)),
    "unet, bilinear": (lambda: models.UNet(bilinear=True, width=4), image(36)),
    "vit": (lambda: models.VisionTransformer(32, 8, 3, 10, 32, 2, 4), image(32)),
    "gpt": (lambda: models.GPT(SMALL_GPT), lambda: (whet.randint(50, (2, 9)),)),
    "seq2seq": (seq2seq, lambda: (words(7, 2)(), words(5, 2)()))}


def made(name):
    whet.manual_seed(0)
    make, arguments = SMALL[name]
    return make(), arguments()


def scores(found):
    """The tensor that a model gives; GPT gives a loss beside it."""
    return found[0] if isinstance(found, tuple) else found


def trained(name, trace):
    """The losses of some steps, and the weights after them, as bytes."""
    model, args = made(name)
    opt = whet.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step(*args):
        loss = scores(model(*args)).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss
    fn = whet.jit.trace(step, strict=True) if trace else step
    losses = [fn(*args).item() for _ in range(5)]
    return losses, [t.numpy(force=True).tobytes() for t in model.state_dict().values()]


@pytest.mark.parametrize("name", SMALL)
def test_traced_training_is_eager_to_the_bit(name):
    eager, traced = trained(name, False), trained(name, True)
    assert all(map(math.isfinite, eager[0])) and eager == traced


@pytest.mark.parametrize("name", SMALL)
def test_exported_is_eager_to_the_bit(name, tmp_path):
    model, args = made(name)
    model.eval()
    with whet.no_grad():
        wanted = scores(model(*args)).numpy()
    whet.export(model, *args).save(tmp_path / "model.whet")
    found = scores(whet.load(tmp_path / "model.whet")(*args)).numpy()
    assert found.tobytes() == wanted.tobytes()


def test_gpt_with_a_cache_draws_what_it_draws_without_one():
    model, (ids,) = made("gpt")
    model.eval()
    whet.manual_seed(5)
    drawn = model.generate(ids, 30, temperature=0.8, top_k=10)
    whet.manual_seed(5)
    wanted = ids
    with whet.no_grad():
        for _ in range(30):
            logits = model(wanted[:, -32:])[0][:, -1] / 0.8
            least = logits.topk(10).values[:, [-1]]
            chances = logits.masked_fill(logits < least, -math.inf).softmax(-1)
            wanted = whet.cat([wanted, whet.multinomial(chances, 1)], 1)
    assert whet.equal(drawn, wanted)


@pytest.mark.parametrize("parts", [(9,), (4, 5), (1, 3, 5), (6, 1, 2)])
def test_gpt_reads_on_where_its_cache_ends(parts):
    model, (ids,) = made("gpt")
    model.eval()
    cache = models.KVCache()
    with whet.no_grad():
        read = [model.hidden(part, cache) for part in ids.split(parts, 1)]
        wanted = model.hidden(ids)
    assert (whet.cat(read, 1) - wanted).abs().max() < 1e-5


def test_a_loss_leaves_out_targets_of_minus_one():
    model, (ids,) = made("gpt")
    targets = ids.clone()
    targets[0] = -1
    logits, loss = model(ids, targets)
    assert logits.shape == (2, 9, 50)
    alone = nn.functional.cross_entropy(logits[1], ids[1])
    assert loss.item() == pytest.approx(alone.item(), rel=1e-6)


def test_a_translation_goes_on_from_its_own_tokens():
    model, (src, _) = made("seq2seq")
    model.eval()
    tokens = model.translate(src, 1, 6)
    forced = whet.cat([whet.full((1, 2), 1), tokens[:-1]])
    assert tokens.shape == (6, 2)
    assert whet.equal(model(src, forced).argmax(-1), tokens)


def test_models_are_imported_when_they_are_asked_for():
    code = "import sys, whet; assert not any(m.startswith('whet.models') for m in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
