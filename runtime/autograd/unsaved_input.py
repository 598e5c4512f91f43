"""What a node keeps of an input that its backward does not read."""


from ..dtypes import FROM_NUMPY


class Shape:
    """What a backward may ask of an input that was not saved."""
    __slots__ = ("shape", "dtype", "ndim")

    def __init__(self, shape, dtype):
        self.shape, self.dtype, self.ndim = shape, dtype, len(shape)

    @classmethod
    def of(cls, tensor):
        """The shape and the type of a tensor."""
        return cls(tensor._array.shape, FROM_NUMPY[tensor._array.dtype])

    def numel(self):
        n = 1
        for s in self.shape:
            n *= s
        return n

    def dim(self):
        return self.ndim

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def __repr__(self):
        return f"{type(self).__name__}({self.shape}, {self.dtype})"
