"""The verifier: it finds what is wrong with a graph, and every pass leaves one with nothing wrong.
(All traced functions of the suite are verified after every pass: see conftest.py.)"""
import numpy as np
import pytest
import whet
from whet import jit
from whet.ir import verify as v
from whet.ir.graph import Type
from whet.ir.parse import parse
from whet.ir.verify import VerifyError, verify

from tests import graphs

GRAPH = '''graph "f":
  %0 = input "argument 0" "x" : f32[3,4]
  %1 = input "outside" "w" : f32[4]
  %2 = mul(%0, %1) : f32[3,4]
  %3 = permute(%2, dims=(1, 0)) : f32[4,3]@(4,16)
  %4 = sum(%3, dim=(0,), keepdim=False) : f32[3]
  write add(%1, 1)
  %8 = fused(%0, %2, f32[](1.0)) into (%8 -> %2) : f32[3,4] {
    %7 = add(%0, 1) : f32[3,4]
    %8 = mul(%7, %2) : f32[3,4]
  }
  guard %4 == f32[3](1.0, 2.0, 3.0)
  return %4, %8'''
WRONG = [("mul(%0, %1)", "mul(%0, %9)", "%9 is used before it is made", 0),
         ("%3 = permute", "%2 = permute", "has two types", None),
         ("return %4", "return %5", "the result %5 is never made", None),
         ('%1 = input "outside" "w" : f32[4]', '%0 = input "outside" "w" : f32[3,4]',
          "%0 is given twice", None),
         ("%2 = mul(%0, %1) : f32[3,4]", "%2 = mul(%0, %1) : f32[3,5]",
          "mul makes f32[3,4], not f32[3,5]", 0),
         ("%2 = mul(%0, %1) : f32[3,4]", "%2 = mul(%0, %1) : f64[3,4]",
          "mul makes f32[3,4], not f64[3,4]", 0),
         ("f32[4,3]@(4,16)", "f32[4,3]", "permute makes f32[4,3]@(4,16), not f32[4,3]", 1),
         ("dims=(1, 0)", "dims=(1, 5)", "permute refuses", 1),
         ("(%0, %1)", "(%0, %1, 2, 3)", "mul refuses these operands", 0),
         ("write add(%1, 1)", "write add(%1, %0)", "f32[3,4] does not fit into f32[4]", 3),
         ("fused(%0, %2, f32[](1.0))", "fused(%0, f32[](1.0))",
          "its operands are not what the nodes in it read: [0, 2]", 4),
         ("fused(%0, %2,", "fused(%0, %2, %1,", "its operands are not", 4),
         ("into (%8 -> %2)", "into (%8 -> %4)", "does not fit into %4", 4),
         ("into (%8 -> %2)", "into (%7 -> %2)", "%7 cannot be put into %2", 4),
         ("    %8 = mul(%7, %2)", "    %8 = mul(%8, %2)", "%8 is used before", 4),
         ("%8 = fused", "%9 = fused", "%9 is not made by the nodes in it", 4),
         ("guard %4 == f32[3](1.0, 2.0, 3.0)", "guard %4 == f32[1](1.0)", "a guard compares", 5),
         ("%2 = mul(%0, %1) : f32[3,4]", "%2, %5 = mul(%0, %1) : f32[3,4], f32[3,4]",
          "mul makes 1 results, not 2", 0),
         ("%2 = mul(%0, %1)", "%2 = draw random_uniform32(shape=(3, 4), generator=0)",
          "there is no stream 0", 0)]


def test_a_graph_that_is_right():
    g = parse(GRAPH)
    assert verify(g) is g


@pytest.mark.parametrize("old, new, says, at", WRONG, ids=[w[2] for w in WRONG])
def test_what_is_wrong_is_found(old, new, says, at):
    with pytest.raises(ValueError) as e:
        verify(parse(GRAPH.replace(old, new, 1)))
    assert says in str(e.value)
    if isinstance(e.value, VerifyError):
        marked = [line for line in str(e.value).splitlines() if line.startswith(">")]
        assert (e.value.node == at and len(marked) == (at is not None)
                and all(new.split("\n")[0].strip()[:12] in str(e.value) for _ in marked))


def test_the_default_type_may_have_been_another():
    text = '''graph "f":
      %0 = input "argument 0" "x" : i64[3]
      %1 = div(%0, 2) : f64[3]
      return %1'''
    assert verify(parse(text))
    with pytest.raises(VerifyError, match="div makes"):
        verify(parse(text.replace("f64[3]", "i64[3]")))


def test_made_twice():
    g = parse(GRAPH)
    g.nodes.insert(1, g.nodes[0])
    with pytest.raises(VerifyError, match="%2 is made twice"):
        verify(g)
    g = parse(GRAPH)
    del g.types[3]
    with pytest.raises(VerifyError, match="%3 has no type"):
        verify(g)


@pytest.mark.parametrize("name", graphs.CASES)
def test_recorded_graphs_and_programs_are_right(name):
    f, _ = graphs.traced(name)
    assert verify(f.recorded) and verify(f.graph)


def test_a_pass_that_breaks_a_graph_is_caught(monkeypatch):
    from whet.passes import pipeline

    def breaks(g):
        return g.of(g.nodes[1:])
    monkeypatch.setattr(v, "CHECK", True)
    monkeypatch.setattr(pipeline, "PASSES", [("breaks", breaks), *pipeline.PASSES])
    with pytest.raises(VerifyError, match="used before it is made"):
        jit.trace(lambda x: (x.sum() * 2).exp())(whet.ones(3))
    monkeypatch.setattr(v, "CHECK", False)
    with pytest.raises(KeyError):            # nobody looks
        jit.trace(lambda x: (x.sum() * 2).exp())(whet.ones(3))


@pytest.mark.parametrize("shape, strides",
                         [((3, 4), None), ((3, 4), (4, 12)), ((3, 4), (0, 4)), ((0, 4), None),
                          ((2, 3), (-12, 4)), ((), ()), ((1, 3), (99, 4)), ((2, 2), (4, 4))])
def test_types_say_what_arrays_say(shape, strides):
    t = Type(np.dtype("f4"), shape, strides)
    low, high = t.span
    a = np.ndarray(shape, "f4", bytearray(max(high - low, 4)), -low, t.strides)
    assert Type.of(a) == t and (t.size, t.nbytes, t.ndim) == (a.size, a.nbytes, a.ndim)
    assert t.contiguous == (a.flags.c_contiguous or not a.size)
    begin, end = np.lib.array_utils.byte_bounds(a)
    assert (not a.size
            or (a.__array_interface__["data"][0] - begin, end - begin) == (-low, high - low))
