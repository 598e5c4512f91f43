"""Versions: what was saved for a backward may not change, and the error says who wrote."""
import pytest
import whet


def leaf(*values):
    return whet.tensor([float(v) for v in values], requires_grad=True)


WRITERS = [("add_", lambda t: t.add_(1)), ("mul_", lambda t: t.mul_(2)),
           ("exp_", lambda t: t.exp_()), ("zero_", lambda t: t.zero_()),
           ("fill_", lambda t: t.fill_(3)), ("copy_", lambda t: t.copy_(whet.ones(3))),
           ("__setitem__", lambda t: t.__setitem__(0, 1.0)),
           ("clamp_min_", lambda t: t.clamp_min_(1)), ("sub_", lambda t: t.__isub__(1)),
           ("masked_fill_", lambda t: t.masked_fill_(t > 0, 1.0))]


@pytest.mark.parametrize("name,write", WRITERS)
@pytest.mark.parametrize("through", ["itself", "view", "base", "detached", "no_grad"])
def test_a_saved_tensor_may_not_change(name, write, through):
    for _ in range(2):                      # the second time through the native entries
        w = leaf(1, 2, 3)
        base = w * 1
        x = base.view(3) if through == "base" else base
        y = x.sin()
        target = {
            "itself": x, "view": x.view(3), "base": base, "detached": x.detach(),
            "no_grad": x}[through]
        before = x._version
        if through == "no_grad":
            with whet.no_grad():
                write(target)
        else:
            write(target)
        assert x._version == target._version > before
        with pytest.raises(RuntimeError) as e:
            y.sum().backward()
        assert ("modified by an inplace operation" in str(e.value) and "`sin`" in str(e.value)
                and "is at version" in str(e.value))
        assert name in ("__setitem__", "zero_") or name.strip("_") in str(e.value).split("by `")[1]


@pytest.mark.parametrize("name,write", WRITERS)
def test_a_saved_result_may_not_change(name, write):
    for _ in range(2):
        y = leaf(1, 2, 3).exp()
        with whet.no_grad():
            write(y)
        with pytest.raises(RuntimeError, match="`exp` saved"):
            y.sum().backward()


def test_what_was_not_saved_may_change():
    w = leaf(1, 2, 3)
    x = w * 1
    y = x + 1                               # saves nothing
    x.add_(1)
    y.add_(1)
    (x.sum() + y.sum()).backward()
    assert w.grad.tolist() == [2, 2, 2]
    x = w * 1
    y = x.exp()                             # saves its result
    x.zero_()
    y.sum().backward()


def test_versions_are_shared_by_views_only():
    x = whet.zeros(4)
    v, c, d = x[1:], x.clone(), x.detach()
    assert x._version == v._version == c._version == 0
    v.add_(1)
    assert (x._version, v._version, d._version, c._version) == (1, 1, 1, 0)
    x[0] = 1
    assert v._version == 2
    for _ in range(3):
        x += 1
        x *= 2
    assert v._version == 8
    x.data.add_(1)
    assert x._version == 8


def test_reading_bumps_nothing():
    x = whet.ones(3)
    for f in ((lambda: x + 1, lambda: x.sum(), lambda: x[0], lambda: x.view(3), lambda: x @ x,
               lambda: x.tolist(), lambda: whet.add(x, x))):
        f()
        f()
    assert x._version == 0


def test_out_arguments_bump():
    x, out = whet.ones(3), whet.zeros(3)
    y = leaf(1, 2, 3) * out
    whet.add(x, 1, out=out)
    assert out._version > 0
    with pytest.raises(RuntimeError, match="modified"):
        y.sum().backward()


def test_leaves_are_protected():
    w = leaf(1, 2, 3)
    for _ in range(2):
        for _, write in WRITERS:
            for target in (w, w.view(3)):
                with pytest.raises(RuntimeError, match="leaf"):
                    write(target)
    assert w.tolist() == [1, 2, 3] and w._version == 0
    with whet.no_grad():
        w.add_(1)
        w.view(3).mul_(2)
    assert w.tolist() == [4, 6, 8] and w.is_leaf and w.requires_grad


def test_views_made_without_a_graph_are_protected():
    w = whet.ones(2, 3, requires_grad=True)
    x, plain = w * 1, whet.ones(2, 3)
    for _ in range(3):
        for base in (w, x):
            with whet.no_grad():
                v = base[0]
            for target in (v, v[1:]):
                with pytest.raises(RuntimeError, match="created in no_grad mode"):
                    target.add_(1)
                with whet.no_grad():
                    target.add_(1)
        with whet.no_grad():
            v = plain[0]
        v.add_(1)
        with pytest.raises(RuntimeError, match="created in no_grad mode"):
            v.add_(w[0])
        a, b = plain.unbind()
        a.add_(1)
        with pytest.raises(RuntimeError, match="multiple views"):
            a.add_(w[0])
        c, d = x.unbind()
        with pytest.raises(RuntimeError, match="multiple views"):
            c.add_(1)


def test_a_write_between_two_backwards():
    w = leaf(1, 2)
    y = w * w
    y.sum().backward(retain_graph=True)
    with whet.no_grad():
        w.sub_(w.grad)
    with pytest.raises(RuntimeError, match="version 1; expected version 0"):
        y.sum().backward()
