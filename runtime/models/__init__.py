"""Networks that people know, under the names that their weights have.

    from whet import models
    net = models.resnet50()
    net.load_state_dict(whet.load("resnet50.safetensors"))

What comes in: sizes, and the number of classes. What comes out: modules, without weights. Their
`state_dict` keys are those of torchvision for residual networks, MobileNets and VGG. They are those
of timm for vision transformers, and of nanoGPT for GPT. The U-Net and the encoder-decoder have the
keys of those that are copied most.
"""
from .gpt import GPT, GPTConfig, KVCache
from .mobilenet_v2 import MobileNetV2, mobilenet_v2
from .mobilenet_v3 import MobileNetV3, mobilenet_v3_large, mobilenet_v3_small
from .resnet import (
    BasicBlock,
    Bottleneck,
    ResNet,
    resnet18,
    resnet34,
    resnet50,
    resnet101,
    resnet152,
)
from .seq2seq import Decoder, Encoder, Seq2Seq
from .unet import UNet
from .vgg import (
    VGG,
    vgg11,
    vgg11_bn,
    vgg13,
    vgg13_bn,
    vgg16,
    vgg16_bn,
    vgg19,
    vgg19_bn,
)
from .vit import (
    VisionTransformer,
    vit_base_patch16_224,
    vit_base_patch32_224,
    vit_large_patch16_224,
    vit_small_patch16_224,
    vit_tiny_patch16_224,
)

__all__ = [
    "GPT", "GPTConfig", "KVCache", "MobileNetV2", "mobilenet_v2", "MobileNetV3",
    "mobilenet_v3_large", "mobilenet_v3_small", "BasicBlock", "Bottleneck", "ResNet", "resnet18",
    "resnet34", "resnet50", "resnet101", "resnet152", "Decoder", "Encoder", "Seq2Seq", "UNet",
    "VGG", "vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn",
    "VisionTransformer", "vit_base_patch16_224", "vit_base_patch32_224", "vit_large_patch16_224",
    "vit_small_patch16_224", "vit_tiny_patch16_224"]
