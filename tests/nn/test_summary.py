"""`whet.summary` and `Module.show`: the layers of a model, and what a call of it takes."""
import pytest
import whet
from whet import models, nn


def small():
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(),
                         nn.Flatten(), nn.Linear(4 * 36, 5))


def test_layers_have_sizes_parameters_and_operations():
    s = whet.summary(small(), whet.zeros(2, 1, 6, 6))
    assert [x.kind for x in s.layers] == ["Sequential", "Conv2d", "BatchNorm2d", "ReLU", "Flatten",
                                          "Linear"]
    conv, linear = s.layers[1], s.layers[5]
    assert conv.outputs == [(2, 4, 6, 6)] and conv.parameters == 36
    assert conv.flops == 2 * 2 * 4 * 36 * 9 and conv.output_bytes == 4 * 2 * 4 * 36
    assert linear.flops == 2 * 2 * 5 * 144 + 2 * 5 and linear.parameters == 5 * 145
    assert s.parameters == 36 + 8 + 5 * 145 == s.trainable
    assert s.flops == sum(x.flops for x in s.layers[1:])
    assert s.parameter_bytes == 4 * s.parameters and s.buffer_bytes == 4 * 8 + 8
    assert s.input_bytes == 4 * 2 * 36


def test_a_module_has_what_is_in_it():
    s = whet.summary(models.resnet18(10, width=8), whet.zeros(1, 3, 32, 32))
    by_name = {x.name: x for x in s.layers}
    assert by_name["layer2"].flops == by_name["layer2.0"].flops + by_name["layer2.1"].flops
    assert by_name["layer2.0.downsample.1"].depth == 4
    assert s.layers[0].outputs == [(1, 10)] and s.layers[0].name == ""


def test_recurrent_layers_count_their_products():
    s = whet.summary(nn.LSTM(8, 16), whet.zeros(5, 2, 8))
    assert s.flops == 2 * 5 * 2 * (64 * 8 + 64 * 16)
    assert s.layers[0].outputs == [(5, 2, 16), (1, 2, 16), (1, 2, 16)]


def test_a_layer_in_two_places_counts_once_and_is_called_twice():
    model = nn.Sequential(nn.Linear(4, 4))
    model.append(model[0])
    s = whet.summary(model, whet.zeros(2, 4))
    assert len(s.layers) == 2 and s.layers[1].calls == 2 and s.parameters == 20
    assert s.flops == s.layers[1].flops == 2 * (2 * 2 * 16 + 8)


def test_frozen_parameters_are_not_trainable():
    model = small()
    model[0].requires_grad_(False)
    s = whet.summary(model, whet.zeros(1, 1, 6, 6))
    assert s.parameters - s.trainable == 36


class Two(nn.Module):
    """Named arguments, and a dict of results."""

    def __init__(self):
        super().__init__()
        self.a, self.drop = nn.Linear(3, 2), nn.Dropout(0.5)

    def forward(self, x, scale=None):
        return {"x": self.drop(self.a(x)) * scale, "scale": scale}


def test_arguments_by_name_and_results_in_containers():
    s = whet.summary(Two(), whet.zeros(1, 3), scale=whet.ones(2))
    assert s.layers[0].outputs == [(1, 2), (2,)] and s.input_bytes == 4 * 5


def test_nothing_is_changed():
    model = small()
    model[3].eval()
    before = {k: t.clone() for k, t in model.state_dict().items()}
    whet.manual_seed(0)
    whet.summary(model, whet.randn(2, 1, 6, 6))
    drawn = whet.randn(3)
    assert all(whet.equal(t, before[k]) for k, t in model.state_dict().items())
    assert model.training and model[0].training and not model[3].training
    assert not any(m._hooks for m in model.modules())
    whet.manual_seed(0)
    whet.randn(2, 1, 6, 6)
    assert whet.equal(whet.randn(3), drawn)


def test_an_error_of_the_model_leaves_no_hooks():
    model = small()
    with pytest.raises(RuntimeError):
        whet.summary(model, whet.zeros(2, 3, 6, 6))
    assert model.training and not any(m._hooks for m in model.modules())
    assert whet.summary(model, whet.zeros(2, 1, 6, 6)).flops > 0


def test_it_prints_as_a_table():
    lines = str(whet.summary(small(), whet.zeros(2, 1, 6, 6))).splitlines()
    assert lines[0].split() == ["layer", "output", "parameters", "operations", "output's", "bytes"]
    assert lines[3].split() == ["0:", "Conv2d", "2x4x6x6", "36", "5.18", "kflop", "1.15", "kB"]
    assert lines[-3] == "parameters: 769 (769 trainable)"
    page = whet.summary(small(), whet.zeros(2, 1, 6, 6))._repr_html_()
    assert page.count("<tr>") == 7 and "0: Conv2d" in page


def test_a_module_shows_its_graph(tmp_path):
    path = small().eval().show(whet.zeros(2, 1, 6, 6), path=str(tmp_path / "small.html"))
    page = (tmp_path / "small.html").read_text()
    assert path == str(tmp_path / "small.html") and "convolution" in page
