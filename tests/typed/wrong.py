"""Each line that ends in `# wrong` has a mistake that mypy and pyright find; the others have
none. Never run."""
import whet
import whet.nn.functional as F
from whet import Tensor, jit, nn, optim
from whet.utils.data import DataLoader, TensorDataset

x = whet.randn(2, 3)
model = nn.Linear(3, "4")  # wrong
layer = nn.Linear(3, 4)
loss: Tensor = F.cross_entropy(layer(x), whet.tensor([0, 1]), reduction=None)  # wrong
loss.backwards()  # wrong
text: str = x.sum()  # wrong
rows: int = x.shape[0]
rows = x.shape  # wrong
values, places = x.max(dim=1)
largest: Tensor = x.max()
largest = x.max(dim=1)  # wrong
pooled = F.max_pool2d(x, 2, return_indices=True)
pooled.sum()  # wrong
F.max_pool2d(x, 2).sum()
step = optim.SGD(layer.parameters(), lr="fast")  # wrong
optim.SGD(layer.parameters(), lr=0.1, moment=0.9)  # wrong
whet.zeros(2, 3, dtype="float32")  # wrong
whet.zeros(2, 3, dtype=whet.float32).add_(1.0).relu()
x.item().shape  # wrong
DataLoader(TensorDataset(x), batch_size="all")  # wrong
F.conv2d(x)  # wrong
whet.cat(x, dim=0.5)  # wrong
whet.special.erfcx("x")  # wrong
whet.linalg.svd(x).U.sum()
whet.linalg.svd(x).V  # wrong
whet.no_such_function(x)  # wrong


@jit.trace
def doubled(t: Tensor, times: int = 2) -> Tensor:
    return t * times


doubled(x, times=3).sum()
doubled(x, times="3")  # wrong
doubled.explain()
