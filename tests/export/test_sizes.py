"""One export for all sizes: eager's bits at each, and errors that name the line and the sizes."""

import contextlib
import json
import math
import zipfile

import pytest
import whet
from whet import nn
from whet.jit import Dim
from whet.jit.export import ArchiveError, ExportError, PreconditionError
from whet.jit.export.dims import fitted

from tests.export import models
from tests.export.damage import rewritten


class Told(nn.Module):
    """It asks for sizes, as many transformers do."""

    def forward(self, x):
        batch, length, width = x.shape
        return x.reshape(batch * length, width).softmax(-1).view(batch, length, width)[:, -1]


def of(*shape):
    """A function from sizes to arguments; None is where a size stands."""

    def make(*sizes):
        given = iter(sizes)
        return [whet.randn(*[next(given) if n is None else n for n in shape])]

    return make


CASES = {
    "perceptron": (
        models.made()["perceptron"][0],
        of(None, 5),
        {"input": ("batch", None)},
        [(0,), (1,), (9,), (200,)],
    ),
    "convolutional": (
        models.made()["convolutional"][0],
        of(None, 3, 8, 8),
        {"input": {0: Dim("batch", min=1, max=64)}},
        [(1,), (2,), (33,), (64,)],
    ),
    "images": (
        nn.Sequential(
            nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(4, 2, 3)
        ).eval(),
        of(None, 1, None, 8),
        {"input": {0: "batch", 2: "height"}},
        [(1, 8), (3, 13), (2, 40)],
    ),
    "transformer": (
        models.Block().eval(),
        of(None, None, 16),
        {"x": ("batch", "length", None)},
        [(1, 2), (3, 64), (7, 9)],
    ),
    "recurrent": (
        nn.LSTM(4, 8, batch_first=True).eval(),
        of(None, 5, 4),
        {"input": ("batch", None, None)},
        [(1,), (17,)],
    ),
    "told": (Told(), of(None, 5, 4), {"x": {0: Dim("batch", max=12)}}, [(1,), (2,), (12,)]),
    "told without bounds": (Told(), of(None, 5, 4), {"x": ("batch", None, None)}, [(1,), (300,)]),
    "told of many": (
        lambda x: whet.zeros(x.shape[1] * 2, x.shape[0]).mT @ (x @ x.mT).repeat(1, 2, 1)[:, :, :1],
        of(None, None, 4),
        {"x": {0: Dim("batch", max=90), 1: Dim("length", max=60)}},
        [(1, 2), (80, 36)],
    ),
    "two inputs": (
        lambda x, y: x @ y.t(),
        lambda n: [whet.randn(n, 4), whet.randn(n, 4)],
        {"x": ("n", None), "y": ("n", None)},
        [(2,), (31,)],
    ),
}
EXAMPLE = {"told of many": (4, 6), "images": (2, 8), "transformer": (2, 5)}


@pytest.mark.parametrize("name", CASES)
def test_one_export_serves_all_sizes(name):
    fn, make, dynamic, others = CASES[name]
    e = whet.export(fn, *make(*EXAMPLE.get(name, (4,))), dynamic=dynamic)
    for sizes in others:
        args = make(*sizes)
        with whet.no_grad():
            wanted = fn(*args)
        assert models.same(wanted, e(*args)), sizes


def test_types_say_the_names_of_sizes():
    fn, make, dynamic, _ = CASES["transformer"]
    e = whet.export(fn, *make(2, 5), dynamic=dynamic)
    assert (
        repr(e.inputs) == "[x: f32[batch,length,16]]"
        and repr(e.results) == "[output: f32[batch,length,16]]"
    )
    e = whet.export(lambda x: x.flatten(), whet.ones(4, 3), dynamic={"x": ("n", None)})
    assert repr(e.results) == "[output: f32[3*n]]" and "n is at least 0" in map(
        repr, e.preconditions
    )


def test_a_call_outside_of_the_bounds_is_refused():
    e = whet.export(
        lambda x, y: x + y,
        whet.ones(4, 3),
        whet.ones(4, 3),
        dynamic={"x": {0: Dim("n", min=2, max=9)}, "y": {0: Dim("n", min=2, max=9)}},
    )
    for x, y, said in (
        (10, 10, "input `x` has 10 in dimension 0; n is from 2 to 9"),
        (3, 5, "n is 3 and 5"),
    ):
        with pytest.raises(PreconditionError, match=said):
            e(whet.ones(x, 3), whet.ones(y, 3))
    with pytest.raises(PreconditionError, match=r"input `x` is f32\[4,2\], but .* f32\[n,3\]"):
        e(whet.ones(4, 2), whet.ones(4, 2))


@pytest.mark.parametrize(
    "fn, said",
    [
        (lambda x: x.reshape(4, 8), "at batch=4 and at batch=5 it raises RuntimeError: shape"),
        (
            lambda x: x * 2 if x.shape[0] < 6 else x * 3,
            r"at batch=4 and at batch=7 mul has 2 and 3.*\(test_sizes.py:\d+\)",
        ),
        (
            lambda x: x * 2 if x.shape[0] < 6 else x.exp(),
            r"at batch=4 and at batch=7 it does other things.*\(test_sizes.py",
        ),
        (lambda x: (x, x.shape[0]), "at batch=4 and at batch=5 its result is another"),
        (lambda x: x * math.sin(x.shape[0]),
         r"mul has .*no expression of the sizes \(test_sizes.py"),
        (lambda x: whet.stack([y * 2 for y in x.unbind()]),
         r"as many steps as the size says: unbind gives 4 and 5 values.*\(test_sizes.py"),
        (lambda x: whet.while_loop(lambda x: x.sum() < 99, lambda x: (x * 2,), (x * 2,))[0],
         r"it has a while_loop, whose bodies are for the sizes.*\(test_sizes.py"),
    ],
)
def test_what_is_not_one_graph_is_refused_with_the_line(fn, said):
    with pytest.raises(ExportError, match=said):
        whet.export(fn, whet.ones(4, 8), dynamic={"x": {0: Dim("batch", max=12)}})


def test_sizes_that_python_goes_by_need_bounds():
    with pytest.raises(
        ExportError, match=r"Python reads a size \(test_sizes.py:\d+\)(.|\n)*give batch a max"
    ):
        whet.export(
            lambda x: x * (2 if x.shape[0] < 999 else 3), whet.ones(2, 5),
            dynamic={"x": ("batch", None)})


@pytest.mark.parametrize("most", [50, 2000])
@pytest.mark.parametrize("told", [
    lambda n: 3 if n == 37 else 2,
    lambda n: int(n ** 0.5 / 7) + 1,
    lambda n: sorted((n, 49))[0],
    lambda n: [1, 2][n > 48],
])
def test_a_size_at_which_python_does_something_else_is_found(told, most):
    with pytest.raises(ExportError, match="at n=4 and at n=|for sizes that were recorded only"):
        whet.export(lambda x: x * told(x.shape[0]), whet.ones(4, 3),
                    dynamic={"x": {0: Dim("n", max=most)}})


def test_a_batch_of_one_may_be_looked_at_where_others_are_copied():
    def merged(x):
        return x.transpose(1, 2).transpose(0, 1).reshape(-1, 3) * 2

    e = whet.export(merged, whet.ones(2, 3, 4), dynamic={"x": {0: Dim("batch", max=5)}})
    for n in (1, 2, 5):
        x = whet.randn(n, 3, 4)
        assert models.same(e(x), merged(x)), n


def test_a_batch_of_one_that_is_written_to_through_a_view_is_not_served():
    def written(x):
        y = x * 2
        z = y.transpose(0, 1).reshape(-1)
        z += 1
        return y, z

    e = whet.export(written, whet.ones(2, 3), dynamic={"x": {0: Dim("batch", max=5)}})
    assert e.sized.dims.dims[0].min == 2
    x = whet.randn(4, 3)
    assert models.same(e(x), written(x))


def test_sizes_begin_where_all_ops_take_them():
    def longest(x):
        return whet.nn.functional.conv1d(x, whet.ones(2, 3, 4)).amax(2)

    e = whet.export(longest, whet.randn(2, 3, 9), dynamic={"x": {2: Dim("time", max=30)}})
    assert e.sized.dims.dims[0].min in (4, 5)      # one window has another kernel
    x = whet.randn(2, 3, 4)
    assert models.same(e(x), longest(x))


def test_decisions_that_are_the_same_at_all_sizes_are_none():
    def double(x):
        if x.shape[0] > 4000 or x.shape[1] != 3:
            raise ValueError("too large")
        return x * 2

    e = whet.export(double, whet.ones(4, 3), dynamic={"x": {0: Dim("n", max=4000)}})
    x = whet.randn(3999, 3)
    assert models.same(e(x), x * 2)


@pytest.mark.parametrize(
    "dynamic, said",
    [
        ({"y": ("n",)}, "dynamic names 'y'; the inputs are x"),
        ({"x": {5: "n"}}, "x has no dimension 5"),
        ({"x": {0: Dim("n", max=2)}}, "x has 4 in dimension 0; n is from 0 to 2"),
        ({"x": 3}, "expected {dimension: Dim}"),
    ],
)
def test_a_wrong_declaration_is_refused(dynamic, said):
    with pytest.raises((ValueError, TypeError), match=said):
        whet.export(lambda x: x + 1, whet.ones(4, 3), dynamic=dynamic)


def test_expressions_are_the_simplest_that_fit():
    def of_samples(f, *values):
        e = fitted([(v, f(*v)) for v in values])
        return e and e.text(["a", "b"])

    some = (4, 5), (5, 8), (7, 6), (11, 9)
    assert of_samples(lambda a, b: 3 * a, *some) == "3*a"
    assert of_samples(lambda a, b: b - 1, *some) == "b-1"
    assert of_samples(lambda a, b: 2 * a * b, *some) == "2*a*b"
    assert of_samples(lambda a, b: a // 2, *some) is None


@pytest.mark.parametrize("example", [(2, 5), (4, 3), (3, 9)])
def test_narrow_bounds_leave_sizes_to_learn_from(example, tmp_path):
    pytest.importorskip("onnx")
    dims = {"input": {0: Dim("b", max=4), 1: Dim("t", max=9)}}
    e = whet.export(nn.Linear(6, 3).eval(), whet.randn(*example, 6), dynamic=dims)
    for column in zip(*e.sized.dims.to_fit()):
        assert len(set(column)) > 1
    e.to_onnx(tmp_path / "model.onnx")
    x = whet.randn(1, 7, 6)
    assert models.same(whet.onnx.load(tmp_path / "model.onnx")(x).detach(), e(x))


# ---- in a file -----------------------------------------------------------------------------------
@pytest.mark.parametrize("name", CASES)
def test_a_loaded_function_serves_all_sizes(name, tmp_path):
    fn, make, dynamic, others = CASES[name]
    e = whet.export(fn, *make(*EXAMPLE.get(name, (4,))), dynamic=dynamic)
    e.save(tmp_path / "model.whet")
    loaded = whet.load(tmp_path / "model.whet")
    loaded.verify()
    assert (repr(loaded), loaded.explain()) == (repr(e), e.explain())
    for sizes in others:
        args = make(*sizes)
        with whet.no_grad():
            assert models.same(fn(*args), loaded(*args)), sizes
    loaded.save(tmp_path / "again.whet")
    assert (tmp_path / "again.whet").read_bytes() == (tmp_path / "model.whet").read_bytes()


def test_a_file_without_sizes_that_differ_is_one_for_whets_of_any_age(tmp_path):
    for dynamic, format_ in ((None, 1), ({"x": ("n", None)}, 2)):
        whet.export(lambda x: x + 1, whet.ones(4, 3), dynamic=dynamic).save(tmp_path / "m.whet")
        with zipfile.ZipFile(tmp_path / "m.whet") as z:
            assert json.loads(z.read("whet.json"))["format"] == format_


def test_a_loaded_function_refuses_the_sizes_that_it_refused_before(tmp_path):
    e = whet.export(lambda x: x + 1, whet.ones(4, 3), dynamic={"x": {0: Dim("n", max=5)}})
    e.save(tmp_path / "model.whet")
    with pytest.raises(PreconditionError, match="input `x` has 6 in dimension 0; n is from"):
        whet.load(tmp_path / "model.whet")(whet.ones(6, 3))


@pytest.mark.parametrize("old, new, said", [
    ('"min": 0', '"min": 9', "'n' is not 4"),
    ('"name": "n"', '"name": "m"', "'n' is not 4"),
    ('"holes": [', '"holes": [[0, ["size", 0], 7, [1], 0],', "does not fit the example"),
    ('"holes": [', '"holes": [[0, ["size", 5], 3, [1], 0],', "range"),
    ('"holes": [', '"holes": [[0, ["size", 0], 3, [9], 0],', "powers are from 0 to 2"),
])
def test_sizes_that_are_damaged_are_refused(tmp_path, old, new, said):
    e = whet.export(lambda x: x.flatten() * 2, whet.ones(4, 3), dynamic={"x": ("n", None)})
    e.save(tmp_path / "model.whet")

    def change(raw):
        text = json.dumps(json.loads(raw)).replace(old, new, 1)
        return text.encode()

    bad = rewritten(tmp_path / "model.whet", tmp_path / "bad.whet", whet=change)
    with pytest.raises(ArchiveError, match=said):
        whet.load(bad)


def test_what_is_made_like_a_part_of_an_input_has_its_sizes():
    def fn(x):
        y = x.mT
        return (whet.zeros_like(x[:, 0]), whet.ones_like(y), whet.full_like(y[:, :1], 2.5),
                whet.zeros_like(y, dtype=whet.int64))

    exported = whet.export(fn, whet.randn(4, 3, 5), dynamic={"x": {0: Dim("batch", max=12)}})
    for n in (2, 4, 9):
        x = whet.randn(n, 3, 5)
        assert models.same(list(exported(x)), list(fn(x)))
    made, wanted = exported(x)[1], fn(x)[1]
    assert made.shape == wanted.shape
    assert wanted.stride() == (15, 1, 5)


def test_sizes_that_are_equal_in_the_example_are_told_apart():
    x, y = whet.randn(4, 3), whet.randn(5, 4)
    e = whet.export(lambda x, y: (x.sum(1), y.sum(0)), x, y,
                    dynamic={"x": ("a", "b"), "y": ("c", "d")})
    assert str(e.results) == "[output.0: f32[a], output.1: f32[d]]"


def test_what_is_left_for_a_dimension_goes_by_the_sizes_that_it_is_of():
    x = whet.randn(2, 3, 8)
    e = whet.export(lambda x: x.unflatten(2, (-1, 4)).sum(3), x,
                    dynamic={"x": {0: "n", 2: Dim("h", multiple=4)}})
    assert str(e.results) == "[output: f32[n,3,h//4]]"
    assert e(whet.randn(5, 3, 12)).shape == (5, 3, 3) and e(whet.ones(0, 3, 8)).shape == (0, 3, 2)


def test_a_text_names_a_size_that_is_declared_elsewhere():
    exported = whet.export(lambda x, y, z: x + y + z, *[whet.ones(3)] * 3, dynamic={
        "x": ("n",), "y": {0: Dim("n", max=7)}, "z": {0: "n"}})
    assert "f32[n]" in repr(exported) and exported(*[whet.ones(7)] * 3).shape == (7,)
    with pytest.raises(PreconditionError, match="n is from 0 to 7"):
        exported(*[whet.ones(8)] * 3)
    assert "x: f32[3]" in repr(whet.export(lambda x: x, whet.ones(3), dynamic={"x": None}))


def other_at_one(x):
    return x * 2 if x.shape[0] == 1 else x + 1


def test_a_least_size_that_is_declared_and_not_served_is_told():
    with pytest.warns(UserWarning, match="n is at least 2, not 1: the function does other things"):
        exported = whet.export(other_at_one, whet.ones(3), dynamic={"x": {0: Dim("n", min=1)}})
    with pytest.raises(PreconditionError, match="n is at least 2"):
        exported(whet.ones(1))


def test_an_error_at_another_size_has_the_line_that_raises_it():
    def four(x):
        return x.view(4, 3) + 1

    with pytest.raises(ExportError, match=r"at n=4 and at n=5 it raises .* \(test_sizes.py:\d+\)"):
        whet.export(four, whet.ones(4, 3), dynamic={"x": {0: "n"}})


def test_a_gpt_is_exported_for_one_token_too():
    from whet.models import GPT, GPTConfig

    model = GPT(GPTConfig(block_size=16, vocab_size=20, n_layer=1, n_head=2, n_embd=8)).eval()
    exported = whet.export(model, whet.randint(20, (2, 5)), dynamic={
        "idx": {0: Dim("b", min=1, max=4), 1: Dim("n", min=1, max=16)}})
    for shape in ((1, 1), (3, 16)):
        idx = whet.randint(20, shape)
        assert exported(idx)[0].tolist() == model(idx)[0].tolist()


def heads(x):
    """Attention of two heads, put together again by a copy."""
    q = x.view(*x.shape[:2], 2, 2).permute(0, 2, 1, 3)
    y = ((q @ q.mT).softmax(-1) @ q).permute(0, 2, 1, 3).contiguous()
    return y.view(x.shape), y.sum(-1)


def with_past(x, past):
    """What is new attends to what there was, too."""
    keys = whet.cat([past, x], 1)
    mask = whet.ones(keys.shape[1], keys.shape[1], dtype=whet.bool).tril()[past.shape[1]:]
    return nn.functional.scaled_dot_product_attention(x, keys, keys, attn_mask=mask), keys


@pytest.mark.parametrize("fn, dynamic, shapes", [
    (heads, {"x": {1: Dim("n", min=1, max=9)}}, [[(2, 1, 4)], [(2, 9, 4)]]),
    (heads, {"x": {0: Dim("b", min=1, max=4), 1: Dim("n", min=1, max=9)}},
     [[(1, 1, 4)], [(4, 1, 4)], [(1, 7, 4)]]),
    (with_past, {"x": {1: Dim("n", min=1, max=9)}, "past": {1: Dim("past", max=20)}},
     [[(2, 3, 4), (2, 0, 4)], [(2, 1, 4), (2, 20, 4)], [(2, 1, 4), (2, 0, 4)]]),
])
def test_one_token_and_an_empty_past_are_served(fn, dynamic, shapes, tmp_path):
    """A copy that one token needs not, and `x[0:]`, which is no slice, are of the same graph."""
    example = [whet.randn(2, 5, 4), whet.randn(2, 6, 4)][:len(dynamic)]
    exported = whet.export(fn, *example, dynamic=dynamic)
    exported.save(tmp_path / "model.whet")
    for served in exported, whet.load(tmp_path / "model.whet"):
        for sizes in shapes:
            args = [whet.randn(*shape) for shape in sizes]
            for a, b in zip(served(*args), fn(*args), strict=True):
                assert a.shape == b.shape and a.numpy().tobytes() == b.numpy().tobytes()


def test_a_copy_that_is_written_to_is_one_at_all_sizes():
    def written(x):
        y = x * 2
        y.mT.contiguous().add_(1)
        return y

    exported = whet.export(written, whet.ones(5, 3), dynamic={"x": {0: Dim("n", max=9)}})
    assert exported(whet.ones(2, 3)).tolist() == written(whet.ones(2, 3)).tolist()
    with pytest.raises(PreconditionError, match="n is from 2 to 9"):
        exported(whet.ones(1, 3))


@pytest.mark.parametrize("fn", [nn.GroupNorm(2, 4).eval(), nn.InstanceNorm2d(4).eval(),
                                lambda input: (input.var((2, 3)), input.std(0, correction=0))])
def test_counts_of_elements_go_by_sizes(fn, tmp_path):
    dims = {0: Dim("n", min=1, max=4), 2: Dim("h", min=2, max=9), 3: Dim("w", min=2, max=9)}
    exported = whet.export(fn, whet.randn(2, 4, 5, 6), dynamic={"input": dims})
    exported.save(tmp_path / "counts.whet")
    loaded = whet.load(tmp_path / "counts.whet")
    for shape in ((1, 4, 2, 9), (4, 4, 9, 3), (3, 4, 7, 7)):
        x = whet.randn(*shape)
        wanted = fn(x) if isinstance(fn(x), tuple) else (fn(x),)
        for made in (exported(x), loaded(x)):
            made = made if isinstance(made, tuple) else (made,)
            assert [y.tolist() for y in made] == [y.tolist() for y in wanted]


@pytest.mark.parametrize("f, least", [
    (lambda x: x.narrow(0, 1, 3), 4),
    (lambda x: x.unfold(0, 3, 2), 3),
    (lambda x: nn.functional.interpolate(x[None, None], scale_factor=0.2), 5),
])
def test_sizes_that_eager_mode_refuses_are_out_of_bounds(f, least):
    e = whet.export(f, whet.randn(9), dynamic={"x": {0: "n"}})
    for n in range(13):
        x = whet.randn(n)
        if n >= least:
            assert whet.equal(e(x), f(x))
        else:
            with pytest.raises((RuntimeError, ValueError, IndexError)):
                f(x)
            with pytest.raises(PreconditionError, match=f"n is at least {least}"):
                e(x)


def test_an_image_as_large_as_the_kernel_has_eagers_bits_or_is_out_of_bounds():
    weight = whet.randn(4, 3, 3, 3)
    def f(x):
        return nn.functional.conv2d(x, weight)
    e = whet.export(f, whet.randn(1, 3, 9, 9), dynamic={"x": {2: "h", 3: "w"}})
    served = 0
    for h in range(3, 7):
        for w in range(3, 7):
            x = whet.randn(1, 3, h, w)
            with contextlib.suppress(PreconditionError):
                assert whet.equal(e(x), f(x))
                served += 1
    assert served >= 9


@pytest.mark.parametrize("size", [(32, 32), (32, 48), (33, 35)])
def test_sizes_that_code_of_whets_own_computes_are_those_of_their_dimension(size):
    """What is padded at each level of a U-Net is 0 or 1, which is easily that of another one."""
    net = whet.models.UNet(3, 2, width=2).eval()
    made = whet.export(net, whet.randn(1, 3, *size), dynamic={
        "x": {0: "batch", 2: Dim("h", min=16), 3: Dim("w", min=16)}})
    for shape in (1, 3, 33, 47), (2, 3, 64, 48), (1, 3, 48, 32), (3, 3, 17, 90), (1, 3, 51, 16):
        x = whet.randn(*shape)
        assert whet.equal(made(x), net(x))
