"""Images that scikit-learn ships."""
import numpy as np
from whet import from_numpy, tensor
from whet.utils.data import Dataset, TensorDataset

from .packages import file_of, package

TRAINING = 1437          # of the 1797 images of digits: four fifths


class Digits(TensorDataset):
    """1797 handwritten digits, images of 1x8x8 with values from 0 to 1, and their labels: 1437 to
    train with, or the 360 others. The order is drawn once: both parts have all writers."""

    def __init__(self, train=True):
        table = np.loadtxt(file_of("sklearn", "scikit-learn", "datasets", "data", "digits.csv.gz"),
                           delimiter=",")
        order = np.random.default_rng(0).permutation(len(table))
        table = table[order[:TRAINING] if train else order[TRAINING:]]
        images = table[:, :-1].reshape(-1, 1, 8, 8) / 16
        self.images = from_numpy(images.astype(np.float32))
        self.labels = from_numpy(table[:, -1].astype(np.int64))
        super().__init__(self.images, self.labels)


class DigitSequences(TensorDataset):
    """The digits as sequences, (steps, features): 8 rows of 8 points, or 64 points one by one."""

    def __init__(self, train=True, steps=8):
        digits = Digits(train)
        self.sequences, self.labels = digits.images.reshape(-1, steps, 64 // steps), digits.labels
        super().__init__(self.sequences, self.labels)


class Photographs(Dataset):
    """scikit-learn's two photographs, a temple and a flower, 3x427x640 with values from 0 to 1."""

    def __init__(self):
        package("PIL", "pillow")
        loaded = package("sklearn.datasets", "scikit-learn").load_sample_images()
        self.names = [name.rpartition("/")[2] for name in loaded.filenames]
        self.images = [tensor(np.moveaxis(a, 2, 0).astype(np.float32) / 255) for a in loaded.images]

    def __getitem__(self, index):
        return self.images[index]

    def __len__(self):
        return len(self.images)


class Patches(TensorDataset):
    """Squares of the photographs' grey values, 1 x size x size, from places that are drawn."""

    def __init__(self, count=1000, size=32, seed=0):
        draw, patches = np.random.default_rng(seed), []
        greys = [image.mean(0, keepdim=True) for image in Photographs().images]
        for _ in range(count):
            grey = greys[draw.integers(len(greys))]
            y, x = (int(draw.integers(n - size + 1)) for n in grey.shape[1:])
            patches.append(grey[:, y:y + size, x:x + size].numpy())
        self.patches = from_numpy(np.stack(patches))
        super().__init__(self.patches)
