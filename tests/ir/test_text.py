"""Graphs as text: what is printed says everything, and what is read is what was printed."""
import numpy as np
import pytest
import whet
from whet import jit
from whet.ir.graph import Graph, Input, OpNode, Ref, Type
from whet.ir.parse import ParseError, find_op, parse
from whet.ops.registry import is_tensor

from tests import graphs
from tests.ops.test_ops import REGISTRY, TESTED, calls


def again(g):
    """A graph through text and back."""
    table = []
    return parse(g.text(table), table)


@pytest.mark.parametrize("name", graphs.CASES)
def test_a_graph_is_read_as_it_was_printed(name):
    f, _ = graphs.traced(name)
    for g in (f.recorded, f.graph):
        assert again(g) == g
        assert again(g).text() == g.text()


def test_the_form():
    def f(x, y):
        z = x * 2 + y
        y.add_(1)
        return z.T
    traced = jit.trace(f)
    traced(whet.ones(2, 3), whet.ones(3))
    line = f.__code__.co_firstlineno
    assert str(traced.recorded).split("\n") == [s for s in f'''graph "f":
  %0 = input "argument 0" "x" : f32[2,3]
  %2 = input "argument 1" "y" : f32[3]
{'  %1 = mul(%0, 2) : f32[2,3]':<90}  # test_text.py:{line + 1}
{'  %3 = add(%1, %2) : f32[2,3]':<90}  # test_text.py:{line + 1}
{'  write add(%2, 1)':<90}  # test_text.py:{line + 2}
{'  %4 = permute(%3, dims=(1, 0)) : f32[3,2]@(4,12)':<90}  # test_text.py:{line + 3}
  return %4, %3 "base of %4"'''.split("\n")]


def test_groups_show_their_nodes():
    f, _ = graphs.traced("chain")
    fused, = f.graph.nodes
    assert ([m.op.name for m in fused.members] == ["mul", "add", "tanh", "exp", "sub", "div"]
            and str(f.graph).count("\n    %") == 6)
    f, _ = graphs.traced("reductions")
    assert any(n.kind == "rows" and any(m.op is not None and m.op.family == "reduce"
                                        for m in n.members) for n in f.graph.nodes)


VALUES = [0, -3, 1 << 70, True, None, ..., 0.1, -0.0, float("inf"), -float("inf"), float("nan"),
          np.frombuffer(b"\1\0\0\0\0\0\xf8\xff")[0].item(),
    1e-310,
          2 - 0j, complex(float("nan"), -0.0), "a \"b\" # c\n\\ é", b"\0\xff", (), (1,),
          (1, (2, [3, "x"])), [], slice(1, None, 2), whet.float16, whet.bool,
          whet.Size((1, 2)), whet.device("cpu"), whet.channels_last, np.float32(0.1), np.int8(-3),
          np.array(2.5), np.array([[1, 2], [3, 4]], np.int16).T,
          np.array([float("nan"), -0.0, 1e-45], np.float32),
          np.array([0x7fc00001, 0x7f800001], np.uint32).view(np.float32), np.zeros((0, 3)),
          np.array([1.5, -2], whet.bfloat16.np), np.array([True, False]),
          np.array([1 + 2j, complex(0, -0.0)]), np.array([1 << 63], np.uint64), np.arange(65),
          np.arange(200.0).reshape(20, 10).T, np.array([0.1, 65504], np.float16),
          np.ones((3, 1, 2), np.float32)]


def with_attribute(value):
    op = REGISTRY["mul"]
    return Graph([OpNode(op, (Ref(0), 2), {"value": value}, [1], "a.py:1")],
                 dict.fromkeys((0, 1), Type(np.dtype("f4"), (3,))), [Input(0, "argument 0", "x")],
                 [(1, "")],
                 "f")


@pytest.mark.parametrize("value", VALUES, ids=lambda v: repr(v)[:30])
def test_values_are_exact(value):
    g = with_attribute(value)
    assert again(g) == g
    assert g != with_attribute([value])


def test_graphs_that_differ_are_not_equal():
    assert (with_attribute(0.0) != with_attribute(-0.0)
            and with_attribute(1) != with_attribute(1.0) != with_attribute(True))
    assert (with_attribute(np.arange(3)) != with_attribute(np.arange(3, dtype=np.int32))
            and with_attribute((1,)) != with_attribute([1]))
    assert with_attribute(np.arange(100)) != with_attribute(np.arange(1, 101))


def test_lines_of_all_names():
    g = with_attribute(1)
    for line in ("", "two\nlines", " spaces ", '"quoted"', "a b.py:3", "# mark"):
        g.nodes[0].line = line
        assert again(g) == g


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", TESTED)
def test_every_op_is_printed_and_read(name):
    for before, after in samples(name):
        assert again(before) == before and again(after) == after


def samples(name):
    """The graphs of an op's samples, before and after the passes."""
    for sample in list(calls(REGISTRY[name]))[:4]:
        places = [i for i, x in enumerate(sample.args) if is_tensor(x)]

        def f(*tensors):
            mine = dict(zip(places, tensors))
            return REGISTRY[name](*[mine.get(i, x) for i, x in enumerate(sample.args)],
                                  **sample.kwargs)
        yield graphs.recorded(f, [x.detach() for x in sample.args if is_tensor(x)])[:2]


def test_gradients_have_names():
    mul, div = REGISTRY["mul"], REGISTRY["div"]
    assert (find_op("mul_grad0") is mul.gradient(0)[0]
            and find_op("div_grad1_grad0") is div.gradient(1)[0].gradient(0)[0])
    assert (find_op("exp_grad") is REGISTRY["exp"].gradient(0)[0]
            and find_op("abs_grad.complex") is not find_op("abs_grad"))
    for wrong in (("mul_grad2", "mul_grad", "add_grad0", "exp_grad0", "nothing", "nothing_grad0",
                   "matmul_grad0", "mul_grad-1", "exp.complex")):
        assert find_op(wrong) is None, wrong


ONE = '''graph "f":
  %0 = input "argument 0" "x" : f32[3]
  %1 = mul(%0, 2) : f32[3]
  return %1'''


@pytest.mark.parametrize(
    "old, new, line, column, says",
    [("mul", "mule", 3, 8, "there is no op mule"),
     ("f32[3]\n  return", "f99[3]\n  return", 3, 21, "there is no type f99"),
     ("%0, 2)", "%0, 2", 3, 18, "expected ',', found ':'"),
     ("return", "retur", 4, 3, "expected '%', found 'retur'"),
     ("%1 =", "%1 $=", 3, 6, "unexpected"), ("%0, 2", "%0, (2", 3, 20, "expected ','"),
     ("2)", "k=1, 2)", 3, 21, "an operand comes after an attribute"),
     ("2)", "two)", 3, 16, "there is no value two"),
     ("  return %1", "", 4, 1, "ends without a return"),
     ("return %1", "return %1 %1", 4, 13, "expected the end of the line"),
     ("2)", "k=1, k=2)", 3, 21, "given twice"),
     ("2)", "f32[2](1.0))", 3, 16, "expected 2 elements"),
     ("2)", "f32[1](1))", 3, 16, "not all elements of f32"),
     ("2)", "i8[1](300))", 3, 16, "not all elements of i8"),
     ("2)", "f32[100](@0))", 3, 26, "no constant 0"),
     ("2)", 'f32[1](hex "00"))', 3, 16, "expected 4 bytes"),
     ("2)", "f32[2]@(0)(1.0, 1.0))", 3, 16, "in one place"),
     ("[3]\n  %1", "[3,-1]\n  %1", 2, 33, "not possible"), ('"f":', "f:", 1, 7, "expected a text"),
     ("%1 = mul(%0, 2) : f32[3]", 'ask "os:system"(%0) == None', 3, 7, "os is no module of whet"),
     ("%1 = mul(%0, 2) : f32[3]",
      'ask "whet.ops.embedding:nothing"(%0) == None',
      3,
      7,
      "has no function nothing"), ("2)", "(" * 60 + ")" * 60 + ")", 3, 56, "nested too deeply"),
     ("mul(%0, 2)", "draw mul(shape=(1,), generator=0)", 3, 13, "a draw has a shape")])
def test_errors_say_where(old, new, line, column, says):
    assert parse(ONE)
    with pytest.raises(ParseError, match="^line") as e:
        parse(ONE.replace(old, new, 1))
    assert says in str(e.value) and (e.value.line, e.value.column) == (line, column), e.value


def test_a_question_is_found_by_the_name_that_its_module_had():
    asked = ONE.replace("%1 = mul(%0, 2) : f32[3]\n  return %1", """\
ask "whet.ops.counts:_are_rates"(%0) == True
  return %0""")
    assert 'ask "whet.ops.random_counts:_are_rates"' in str(parse(asked))


def test_text_that_is_cut_or_changed_is_refused_or_read():
    f, _ = graphs.traced("writes")
    text = str(f.graph)
    for i in range(0, len(text), 7):
        for wrong in ((text[:i], text[:i] + text[i + 1:], text[:i] + "%" + text[i + 1:],
                       text[:i] + "(" + text[i:])):
            try:
                assert isinstance(parse(wrong), Graph)
            except ParseError as e:
                assert 1 <= e.line <= wrong.count("\n") + 2


def test_a_graph_holds_no_array_of_the_run():
    import gc
    import weakref
    x = whet.randn(1000)
    f = jit.trace(lambda x: (x * 2).sum() + (x @ x))
    f(x)
    array = weakref.ref(x._array)
    g = f.recorded
    del x
    gc.collect()
    assert array() is None and g.types[0] == Type(np.dtype("f4"), (1000,))
