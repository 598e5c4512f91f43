"""`export(dynamic=True)`: which sizes may differ is found by trying."""
import pytest
import whet
import whet.nn.functional as F
from whet import nn
from whet.jit import Dim
from whet.jit.export import ExportError

NETS = {
    "features are fixed": (nn.Linear(4, 3), [(5, 4)], ["f32[batch,4]"]),
    "a batch of one": (nn.Linear(4, 3), [(1, 4)], ["f32[batch,4]"]),
    "a batch that equals the features": (nn.Linear(4, 4), [(4, 4)], ["f32[batch,4]"]),
    "images": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
               [(1, 3, 9, 8)], ["f32[batch,3,input_2,input_3]"]),
    "images of one size": (nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(72, 2)),
                           [(2, 1, 8, 8)], ["f32[batch,1,8,8]"])}
LSTM = nn.LSTM(4, 8, batch_first=True)
W = whet.ones(8, 8)
FUNCTIONS = {
    "all sizes": (lambda x: x * 2, [(5, 3)], ["f32[batch,x_1]"]),
    "equal sizes of two inputs": (lambda x, y: x + y, [(5, 4), (5, 4)],
                                  ["f32[batch,x_1]", "f32[batch,x_1]"]),
    "equal ones among others": (lambda x, y: (x @ W).sum(1) + y, [(8, 8), (8,)],
                                ["f32[batch,8]", "f32[batch]"]),
    "inner sizes of a product": (lambda x, y: x @ y, [(3, 4), (4, 5)],
                                 ["f32[x_0,x_1]", "f32[x_1,y_1]"]),
    "sequences": (lambda x: LSTM(x)[0], [(2, 5, 4)], ["f32[batch,x_1,4]"]),
    "halves": (lambda x: x.view(-1, 2).sum(1), [(6,)], ["f32[batch]"]),
    "as many as in a row": (lambda x: x.view(-1, int(x.nelement() / x.shape[0])) * 2, [(5, 4, 3)],
                            ["f32[batch,x_1,x_2]"]),
    "Python decides by the rows": (lambda x: x * 2 if x.shape[0] > 3 else x + 1, [(5, 4)],
                                   ["f32[5,x_1]"]),
    "nothing differs": (lambda x: x * (2 if tuple(x.shape) == (2, 3) else 3), [(2, 3)],
                        ["f32[2,3]"])}


@pytest.mark.parametrize("fn, shapes, types", [*NETS.values(), *FUNCTIONS.values()],
                         ids=[*NETS, *FUNCTIONS])
def test_sizes_that_may_differ_are_found(fn, shapes, types):
    fn = fn.eval() if isinstance(fn, nn.Module) else fn
    made = whet.export(fn, *[whet.randn(*s) for s in shapes], dynamic=True)
    assert [repr(v).split(": ")[1] for v in made.inputs] == types
    if made.sized is not None:
        example = made.sized.dims.example
        for step in 1, 5:
            values = tuple(n + step * d.multiple for n, d in zip(example, made.sized.dims.dims))
            xs = [whet.randn(*made.sized.dims.shape(i, s, values)) for i, s in enumerate(shapes)]
            assert whet.equal(made(*xs), fn(*xs))


def test_sizes_are_multiples_of_what_is_needed():
    class Unet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.Conv2d(1, 2, 3, stride=2, padding=1)
            self.up = nn.ConvTranspose2d(2, 1, 2, stride=2)

        def forward(self, x):
            return x + self.up(self.down(x))
    net = Unet().eval()
    made = whet.export(net, whet.randn(1, 1, 8, 8), dynamic=True)
    assert [d.multiple for d in made.sized.dims.dims] == [1, 2, 2]
    x = whet.randn(3, 1, 14, 10)
    assert whet.equal(made(x), net(x))


class Words(nn.Module):
    """A model of sequences that has so many places, and says so."""
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(9, 8), nn.Embedding(12, 8)
        self.project = nn.Linear(8, 8)

    def forward(self, x):
        rows, length = x.size()
        assert length <= 12, f"too long: {length}"
        h = self.project(self.words(x) + self.places(whet.arange(length)))
        h = h.view(rows, length, 2, 4).transpose(1, 2)
        return F.scaled_dot_product_attention(h, h, h, is_causal=True)


def test_the_largest_size_is_found():
    net = Words().eval()
    made = whet.export(net, whet.randint(0, 9, (2, 5)), dynamic=True)
    assert [(d.name, d.max) for d in made.sized.dims.dims] == [("batch", None), ("x_1", 12)]
    for shape in (1, 1), (1, 12), (7, 2), (4, 11):
        x = whet.randint(0, 9, shape)
        assert whet.equal(made(x), net(x))
    with pytest.raises(ValueError, match="x_1 is from 1 to 12|x_1 is from 0 to 12"):
        made(whet.randint(0, 9, (2, 13)))


def test_what_python_decides_by_one_size_leaves_the_others_free():
    net, x = Words().eval(), whet.randint(0, 9, (2, 5))
    made = whet.export(net, x, dynamic={"x": {0: "rows", 1: Dim("length", max=12)}})
    for shape in (1, 1), (9, 12), (1, 7), (300, 2):
        x = whet.randint(0, 9, shape)
        assert whet.equal(made(x), net(x))
    with pytest.raises(ExportError, match="(?s)AssertionError: too long: 13.*bounds"):
        whet.export(net, x[:, :2], dynamic={"x": {1: Dim("length", max=13)}})

    def by_rows(x):
        return x.sum(1) if x.shape[0] < 5 or x.shape[1] > 3 else x.prod(1)
    with pytest.raises(ExportError, match="other things|give rows"):
        whet.export(by_rows, whet.ones(2, 3), dynamic={"x": {0: "rows", 1: Dim("n", max=12)}})


def test_some_sizes_may_be_left_open():
    x = whet.ones(4, 6)
    auto = whet.export.Dim.AUTO
    one, other = (whet.export.export(nn.Linear(6, 2), (x,), dynamic_shapes={"input": shapes})
                  for shapes in ({0: auto, 1: auto}, {-2: auto}))
    assert repr(one.inputs) == repr(other.inputs) == "[input: f32[batch,6]]"
    fixed = whet.export.export(lambda x: x * 2, (x,), dynamic_shapes=({0: Dim("n"), 1: auto},))
    assert repr(fixed.inputs) == "[x: f32[n,x_1]]"
