"""What is raised where a model cannot be read or written."""


class OnnxError(ValueError):
    """A model that is not valid, or that has parts which are not supported; names the node."""

    def __init__(self, message: str, placed: bool = False) -> None:
        super().__init__(message)
        self.placed = placed     # does the message name the node already?


class UnsupportedOnnx(OnnxError):
    """Nodes that cannot be run: all of them, by their names, each with the reason."""

    def __init__(self, found: list[str]) -> None:
        count = f"{len(found)} parts" if len(found) > 1 else "a part"
        listed = "\n".join(f"  {line}" for line in found)
        super().__init__(f"the model has {count} that cannot be run:\n{listed}", placed=True)
        self.found = found


class MissingOnnx(ImportError):
    """The package `onnx` is not installed."""
