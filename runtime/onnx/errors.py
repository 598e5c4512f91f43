"""What is raised where a model cannot be read or written."""


class OnnxError(ValueError):
    """A model that is not valid, or that has parts which are not supported; names the node."""


class MissingOnnx(ImportError):
    """The package `onnx` is not installed."""
