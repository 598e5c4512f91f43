"""The types by which programs ask for checkpoints in safetensors that many processes write."""

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]


class HuggingFaceStorageReader:
    """What would read such a checkpoint. None can be made.

    >>> from whet.distributed.checkpoint.hf_storage import HuggingFaceStorageReader
    >>> isinstance(None, HuggingFaceStorageReader)
    False
    """

    def __init__(self, path, **how):
        raise RuntimeError(f"{type(self).__name__}: there are no checkpoints of many processes: a "
                           f"group has one. Use whet.load or whet.safetensors")


class HuggingFaceStorageWriter(HuggingFaceStorageReader):
    """What would write such a checkpoint. None can be made."""
