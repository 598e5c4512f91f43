"""Models of all kinds, small in their sizes and whole in their parts: what an export must serve.

`MODELS`: name -> Entry. Each takes inputs whose first size is the batch.
"""

from . import images, others, sequences
from .entry import Entry

MODELS: dict[str, Entry] = {**images.MODELS, **sequences.MODELS, **others.MODELS}
# quick ones, one of each kind at least
FEW = ("lenet", "unet", "lstm", "gpt", "vit", "vae", "dlrm")

__all__ = ["FEW", "MODELS", "Entry"]
