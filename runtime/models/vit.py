"""Vision transformers (Dosovitskiy et al., 2020), with timm's keys: `blocks.0.attn.qkv.weight`."""
from whet import cat, nn, zeros
from whet.nn import functional as F


class PatchEmbed(nn.Module):
    """An image as a row of patches, each a vector."""

    def __init__(self, patch, channels, width):
        super().__init__()
        self.proj = nn.Conv2d(channels, width, patch, patch)

    def forward(self, image):
        return self.proj(image).flatten(2).transpose(1, 2)


class Attention(nn.Module):
    """Each patch looks at all."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.proj(y.transpose(1, 2).reshape(b, t, c))


class Mlp(nn.Module):
    """Two linear layers."""

    def __init__(self, width, hidden):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class Block(nn.Module):
    """Attention, then a perceptron, each added to what came in."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(width, eps=1e-6), Attention(width, heads)
        self.norm2, self.mlp = nn.LayerNorm(width, eps=1e-6), Mlp(width, 4 * width)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    """Patches with their places and a token for the class, blocks, and what the token says.

    >>> import whet
    >>> model = whet.models.VisionTransformer(
    ...     img_size=32, patch_size=8, num_classes=10, embed_dim=16, depth=2, num_heads=2)
    >>> model(whet.randn(2, 3, 32, 32)).shape
    whet.Size([2, 10])
    """

    def __init__(self, img_size=224, patch_size=16, in_chans=3, num_classes=1000, embed_dim=768,
                 depth=12, num_heads=12):
        super().__init__()
        self.patch_embed = PatchEmbed(patch_size, in_chans, embed_dim)
        self.cls_token = nn.Parameter(zeros(1, 1, embed_dim))
        self.pos_embed = nn.Parameter(zeros(1, 1 + (img_size // patch_size) ** 2, embed_dim))
        self.blocks = nn.Sequential(*[Block(embed_dim, num_heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(embed_dim, eps=1e-6)
        self.head = nn.Linear(embed_dim, num_classes)
        nn.init.normal_(self.cls_token, std=1e-6)
        nn.init.trunc_normal_(self.pos_embed, std=0.02)
        self.apply(start)

    def forward(self, image):
        x = self.patch_embed(image)
        x = cat([self.cls_token.expand(x.shape[0], -1, -1), x], 1) + self.pos_embed
        return self.head(self.norm(self.blocks(x))[:, 0])


def start(module):
    """The first weights, as timm draws them."""
    if isinstance(module, nn.Linear):
        nn.init.trunc_normal_(module.weight, std=0.02)
        nn.init.zeros_(module.bias)


def vit_tiny_patch16_224(num_classes=1000):
    """ViT-Ti/16: 5.7 million parameters.

    >>> import whet
    >>> with whet.device("meta"):                # no memory, and no numbers drawn
    ...     model = whet.models.vit_tiny_patch16_224()
    >>> sum(p.numel() for p in model.parameters())
    5717416
    """
    return VisionTransformer(num_classes=num_classes, embed_dim=192, num_heads=3)


def vit_small_patch16_224(num_classes=1000):
    """ViT-S/16: 22 million parameters.

    >>> import whet
    >>> with whet.device("meta"):                # no memory, and no numbers drawn
    ...     model = whet.models.vit_small_patch16_224()
    >>> sum(p.numel() for p in model.parameters())
    22050664
    """
    return VisionTransformer(num_classes=num_classes, embed_dim=384, num_heads=6)


def vit_base_patch16_224(num_classes=1000):
    """ViT-B/16: 86.6 million parameters.

    >>> import whet
    >>> with whet.device("meta"):                # no memory, and no numbers drawn
    ...     model = whet.models.vit_base_patch16_224()
    >>> sum(p.numel() for p in model.parameters())
    86567656
    """
    return VisionTransformer(num_classes=num_classes)


def vit_base_patch32_224(num_classes=1000):
    """ViT-B/32: 88.2 million parameters.

    >>> import whet
    >>> with whet.device("meta"):                # no memory, and no numbers drawn
    ...     model = whet.models.vit_base_patch32_224()
    >>> sum(p.numel() for p in model.parameters())
    88224232
    """
    return VisionTransformer(patch_size=32, num_classes=num_classes)


def vit_large_patch16_224(num_classes=1000):
    """ViT-L/16: 304.3 million parameters.

    >>> import whet
    >>> with whet.device("meta"):                # no memory, and no numbers drawn
    ...     model = whet.models.vit_large_patch16_224()
    >>> sum(p.numel() for p in model.parameters())
    304326632
    """
    return VisionTransformer(num_classes=num_classes, embed_dim=1024, depth=24, num_heads=16)
