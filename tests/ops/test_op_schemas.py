"""Operators of a schema: `whet.library.define`, `impl` and `Library`."""
import pytest
import whet
from whet import library, op_schemas


def test_a_schema_is_a_signature():
    name, signature, written = op_schemas.parsed(
        'f(Tensor(a!) x, Tensor? w=None, *, str m="a,b", int[] k=[1, 2], float eps=1e-5) -> ()')
    assert (name, written) == ("f", ["x"])
    assert str(signature) == "(x, w=None, *, m='a,b', k=[1, 2], eps=1e-05)"
    assert op_schemas.parsed("() -> Tensor")[0] == ""
    for bad, error in (("Tensor x -> Tensor", ValueError), ("(Tensor) -> Tensor", RuntimeError)):
        with pytest.raises(error):
            op_schemas.parsed(bad)


def test_an_operator_of_a_schema_gets_its_function_afterwards():
    library.define("schemas::scaled", "(Tensor x, int n=2, *, float eps=1.5) -> Tensor")
    op = whet.ops.schemas.scaled
    with pytest.raises(NotImplementedError, match="there is no function for it"):
        op(whet.ones(1))

    @library.impl("schemas::scaled", ("cpu", "cuda"))
    def scaled(x, n, *, eps):
        return x * n + eps
    assert op(whet.ones(1), 3, eps=1.0).item() == 4 and op.default(whet.ones(1)).item() == 3.5
    library.register_autograd("schemas::scaled", lambda ctx, g: (g * 5, None),
                              setup_context=lambda ctx, inputs, output, keyword_only_inputs: None)
    x = whet.ones(2, requires_grad=True)
    op(x).sum().backward()
    assert x.grad.tolist() == [5, 5]
    traced = whet.jit.trace(lambda x: op(x) * 2)
    for _ in range(5):
        assert traced(whet.ones(2)).tolist() == [7, 7]


def test_what_an_operator_writes_to_is_in_its_schema():
    library.define("schemas::count_", "(Tensor(a!) x, Tensor y) -> ()")
    library.impl("schemas::count_", "cpu", lambda x, y: x.add_(1) and None)
    x, y = whet.zeros(()), whet.zeros(())
    whet.ops.schemas.count_(x, y)
    assert (x.item(), x._version, y._version) == (1, 1, 0)


def test_a_library_defines_operators_of_its_namespace():
    lib = library.Library("schemas_of", "DEF")
    assert lib.define("both(Tensor a, Tensor b) -> (Tensor, Tensor)") == "both"

    @library.impl(lib, "both", "CompositeImplicitAutograd")
    def both(a, b):
        return a * b, a + b
    x = whet.ones(2, requires_grad=True)
    product, total = whet.ops.schemas_of.both(x, x * 2)
    (product + total).sum().backward()
    assert x.grad.tolist() == [7, 7]
    library.register_fake("schemas_of::both", lambda a, b: (a, b))
    library.define(lib, "sine(Tensor a) -> Tensor")
    library.Library("schemas_of", "IMPL", "CPU").impl("sine", lambda a: a.sin())
    y = whet.ops.schemas_of.sine(x)
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        y.sum().backward()
    with pytest.raises(ValueError, match="Unsupported kind"):
        library.Library("schemas_of", "ANY")
