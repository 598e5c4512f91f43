"""The keys and shapes of the weights that people have: of torchvision, timm, nanoGPT and others.

Each function gives a dict from key to shape.
"""


def conv(key, o, i, kernel, bias=False):
    """A convolution's weights, for groups of one channel with `i` of 1."""
    return {f"{key}.weight": (o, i, kernel, kernel), **({f"{key}.bias": (o,)} if bias else {})}


def norm(key, n):
    """A batch norm's weights and statistics."""
    names = "weight", "bias", "running_mean", "running_var"
    return {**{f"{key}.{name}": (n,) for name in names}, f"{key}.num_batches_tracked": ()}


def linear(key, o, i):
    """The weights of a linear layer."""
    return {f"{key}.weight": (o, i), f"{key}.bias": (o,)}


def layer_norm(key, n):
    """The weights of a layer norm."""
    return {f"{key}.weight": (n,), f"{key}.bias": (n,)}


def resnet(counts, bottleneck):
    """torchvision's residual networks."""
    keys, i = {**conv("conv1", 64, 3, 7), **norm("bn1", 64)}, 64
    for stage, count in enumerate(counts):
        w = 64 << stage
        kernels = ((w, 1), (w, 3), (4 * w, 1)) if bottleneck else ((w, 3), (w, 3))
        for block in range(count):
            at, c = f"layer{stage + 1}.{block}", i
            for n, (o, kernel) in enumerate(kernels, 1):
                keys |= conv(f"{at}.conv{n}", o, c, kernel) | norm(f"{at}.bn{n}", o)
                c = o
            if i != c:
                keys |= conv(f"{at}.downsample.0", c, i, 1) | norm(f"{at}.downsample.1", c)
            i = c
    return keys | linear("fc", 1000, i)


def vgg(plan, batch_norm):
    """torchvision's VGG: channels by the letters of its configurations, `M` for a pool."""
    keys, at, i = {}, 0, 3
    for o in plan.split():
        if o == "M":
            at += 1
            continue
        keys |= conv(f"features.{at}", int(o), i, 3, bias=True)
        if batch_norm:
            keys |= norm(f"features.{at + 1}", int(o))
        at, i = at + 2 + batch_norm, int(o)
    for at, o, i in ((0, 4096, 512 * 49), (3, 4096, 4096), (6, 1000, 4096)):
        keys |= linear(f"classifier.{at}", o, i)
    return keys


def mobilenet_v2():
    """torchvision's MobileNetV2."""
    keys, i, at = conv("features.0.0", 32, 3, 3) | norm("features.0.1", 32), 32, 1
    plan = [16] + [24] * 2 + [32] * 3 + [64] * 4 + [96] * 3 + [160] * 3 + [320]
    for o in plan:
        mid, parts = (i, []) if at == 1 else (6 * i, [(6 * i, i, 1)])
        for n, (a, b, k) in enumerate([*parts, (mid, 1, 3)]):
            keys |= conv(f"features.{at}.conv.{n}.0", a, b, k)
            keys |= norm(f"features.{at}.conv.{n}.1", a)
        n = len(parts) + 1
        keys |= conv(f"features.{at}.conv.{n}", o, mid, 1) | norm(f"features.{at}.conv.{n + 1}", o)
        at, i = at + 1, o
    keys |= conv(f"features.{at}.0", 1280, i, 1) | norm(f"features.{at}.1", 1280)
    return keys | linear("classifier.1", 1000, 1280)


# kernel, channels inside, channels, those of the squeezed ones
LARGE = """3 16 16 0, 3 64 24 0, 3 72 24 0, 5 72 40 24, 5 120 40 32, 5 120 40 32, 3 240 80 0,
    3 200 80 0, 3 184 80 0, 3 184 80 0, 3 480 112 120, 3 672 112 168, 5 672 160 168, 5 960 160 240,
    5 960 160 240"""
SMALL = """3 16 16 8, 3 72 24 0, 3 88 24 0, 5 96 40 24, 5 240 40 64, 5 240 40 64, 5 120 48 32,
    5 144 48 40, 5 288 96 72, 5 576 96 144, 5 576 96 144"""


def mobilenet_v3(plan, last):
    """torchvision's MobileNetV3."""
    keys, i, at = conv("features.0.0", 16, 3, 3) | norm("features.0.1", 16), 16, 1
    for row in plan.split(","):
        kernel, mid, o, few = map(int, row.split())
        n, block = 0, f"features.{at}.block"
        convs = [*([(mid, i, 1)] if mid != i else []), (mid, 1, kernel)]
        for a, b, k in convs:
            keys |= conv(f"{block}.{n}.0", a, b, k) | norm(f"{block}.{n}.1", a)
            n += 1
        if few:
            keys |= conv(f"{block}.{n}.fc1", few, mid, 1, bias=True)
            keys |= conv(f"{block}.{n}.fc2", mid, few, 1, bias=True)
            n += 1
        keys |= conv(f"{block}.{n}.0", o, mid, 1) | norm(f"{block}.{n}.1", o)
        at, i = at + 1, o
    keys |= conv(f"features.{at}.0", 6 * i, i, 1) | norm(f"features.{at}.1", 6 * i)
    return keys | linear("classifier.0", last, 6 * i) | linear("classifier.3", 1000, last)


def vit(width, depth, patch):
    """timm's vision transformers."""
    keys = {"cls_token": (1, 1, width), "pos_embed": (1, 1 + (224 // patch) ** 2, width)}
    keys |= conv("patch_embed.proj", width, 3, patch, bias=True)
    for at in range(depth):
        block = f"blocks.{at}"
        keys |= layer_norm(f"{block}.norm1", width) | layer_norm(f"{block}.norm2", width)
        keys |= linear(f"{block}.attn.qkv", 3 * width, width)
        keys |= linear(f"{block}.attn.proj", width, width)
        keys |= linear(f"{block}.mlp.fc1", 4 * width, width)
        keys |= linear(f"{block}.mlp.fc2", width, 4 * width)
    return keys | layer_norm("norm", width) | linear("head", 1000, width)


def gpt(width, depth, words, places):
    """nanoGPT's GPT, with biases."""
    keys = {"transformer.wte.weight": (words, width), "transformer.wpe.weight": (places, width)}
    for at in range(depth):
        block = f"transformer.h.{at}"
        keys |= layer_norm(f"{block}.ln_1", width) | layer_norm(f"{block}.ln_2", width)
        keys |= linear(f"{block}.attn.c_attn", 3 * width, width)
        keys |= linear(f"{block}.attn.c_proj", width, width)
        keys |= linear(f"{block}.mlp.c_fc", 4 * width, width)
        keys |= linear(f"{block}.mlp.c_proj", width, 4 * width)
    return keys | layer_norm("transformer.ln_f", width) | {"lm_head.weight": (words, width)}


def unet():
    """milesial's Pytorch-UNet, with transposed convolutions."""
    def double(key, i, o):
        return (conv(f"{key}.double_conv.0", o, i, 3) | norm(f"{key}.double_conv.1", o)
                | conv(f"{key}.double_conv.3", o, o, 3) | norm(f"{key}.double_conv.4", o))
    keys = double("inc", 3, 64)
    for n in range(4):
        keys |= double(f"down{n + 1}.maxpool_conv.1", 64 << n, 128 << n)
        i = 1024 >> n
        keys |= {f"up{n + 1}.up.weight": (i, i // 2, 2, 2), f"up{n + 1}.up.bias": (i // 2,)}
        keys |= double(f"up{n + 1}.conv", i, i // 2)
    return keys | conv("outc.conv", 2, 64, 1, bias=True)


def seq2seq(words, embedded, width, layers):
    """The encoder and decoder of bentrevett's tutorials."""
    keys = linear("decoder.fc_out", words, width)
    for part in ("encoder", "decoder"):
        keys[f"{part}.embedding.weight"] = words, embedded
        for n in range(layers):
            for name, shape in (("weight_ih", (4 * width, width if n else embedded)),
                                ("weight_hh", (4 * width, width)), ("bias_ih", (4 * width,)),
                                ("bias_hh", (4 * width,))):
                keys[f"{part}.rnn.{name}_l{n}"] = shape
    return keys
