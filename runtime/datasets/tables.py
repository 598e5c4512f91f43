"""Tables that scikit-learn ships."""
import numpy as np
from whet import from_numpy
from whet.utils.data import TensorDataset

from .packages import package

NAMES = "iris", "wine", "breast_cancer", "diabetes"


class Table(TensorDataset):
    """A small table: rows of columns with mean 0 and deviation 1, and what is to be told of each.
    That is a class, but for "diabetes", where it is a number.

    >>> import whet
    >>> data = whet.datasets.Table("iris")
    >>> len(data)
    150
    """

    def __init__(self, name="iris"):
        if name not in NAMES:
            raise ValueError(f"Table: {name!r} is none of {', '.join(NAMES)}")
        loaded = getattr(package("sklearn.datasets", "scikit-learn"), f"load_{name}")()
        columns, wanted = loaded.data, loaded.target
        columns = (columns - columns.mean(0)) / columns.std(0)
        self.names = list(loaded.feature_names)
        self.columns = from_numpy(columns.astype(np.float32))
        kind = np.int64 if wanted.dtype.kind in "iu" else np.float32
        self.wanted = from_numpy(wanted.astype(kind))
        super().__init__(self.columns, self.wanted)
