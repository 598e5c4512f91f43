"""What streams and datapipes with indices have in common where they are made of something else."""
import copy

from .pipes import DataChunk


def copied(data, deepcopy):
    """Data that others may go on to write to, of which generators and files cannot be copied."""
    if not deepcopy:
        return data
    try:
        return copy.deepcopy(data)
    except TypeError:
        return data


class OfOne:
    """A datapipe of another one, with as many items."""

    def __init__(self, datapipe):
        self.datapipe = datapipe

    def __len__(self):
        return len(self.datapipe)


class InBatches(OfOne):
    """A datapipe whose items are lists of `batch_size` items of another one."""

    def __init__(self, datapipe, batch_size, drop_last=False, wrapper_class=DataChunk):
        super().__init__(datapipe)
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.batch_size, self.drop_last, self.wrapper_class = batch_size, drop_last, wrapper_class

    def __len__(self):
        whole, rest = divmod(len(self.datapipe), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)


class OfSeveral:
    """A datapipe of at least one other, all of the kind `takes`."""
    takes: type

    def __init__(self, *datapipes):
        name = type(self).__name__
        if not datapipes:
            raise ValueError(f"Expected at least one DataPipe to `{name}`, but got nothing.")
        if not all(isinstance(datapipe, self.takes) for datapipe in datapipes):
            raise TypeError(
                f"All inputs are required to be `{self.takes.__name__}` for `{name}`.")
        self.datapipes = datapipes


class OneAfterTheOther(OfSeveral):
    """All items of one datapipe, then those of the next one."""

    def __len__(self):
        return sum(map(len, self.datapipes))


class SideBySide(OfSeveral):
    """Something of an item of each datapipe, as long as all have one."""

    def __len__(self):
        return min(map(len, self.datapipes))
