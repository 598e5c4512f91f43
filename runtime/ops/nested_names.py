"""The method of dense tensors that nested ones have: what it does is in `whet.nested`."""
from .surface import method


@method()
def to_padded_tensor(self, padding, output_size=None):
    """A dense tensor of the parts of a nested one, filled up to one length."""
    raise NotImplementedError(
        f"Could not run 'to_padded_tensor' with arguments of layout {self.layout}: it is of nested "
        "tensors (docs/nested.md).")
