"""Where a list of nodes is split by the counts that they go by, and in which order nodes come."""
import random

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import nn
from whet.ir.graph import Draw, Guard, OpNode, Ref, Write
from whet.jit.program.counts_of_sizes import CountsOfSizes
from whet.jit.program.needed_values import Needs
from whet.jit.program.split_by_counts import Clusters, runs_of, what_is_done, without_short_ones
from whet.ops.registry import REGISTRY

from .ledgers import calls_of


def op(name, out, *ins):
    return OpNode(REGISTRY[name], tuple(map(Ref, ins)), {}, [out], "here:1")


def random_list(rng, values=6, nodes=24):
    """Nodes on `values` that are given, and by which of three counts each goes."""
    made, out, counts = values, [], {}
    for _ in range(nodes):
        kind = rng.random()
        a, b = rng.randrange(made), rng.randrange(made)
        if kind < 0.15:
            node = Write(REGISTRY["add"], (Ref(a), Ref(b)), {}, "here:1")
        elif kind < 0.25:
            node = Guard(Ref(a), np.array(True), "here:1")
        elif kind < 0.3:
            node = Draw(REGISTRY["random_uniform32"], {"shape": (2,)}, [made], "here:1")
        elif kind < 0.45:
            node = op("detach", made, a)
        elif kind < 0.6:
            node = op("gather", made, a, b)
        else:
            node = op("add", made, a, b)
        out.append(node)
        made += len(node.outs)
        counts[id(node)] = frozenset(rng.sample(range(3), rng.choice((0, 0, 1, 1, 2))))
    return out, counts


def memory_of(nodes):
    memory = {}
    for node in nodes:
        if node.is_view:
            memory[node.outs[0]] = memory.get(int(node.ins[0]), int(node.ins[0]))
    return memory


def has_to_be_behind(a, b, memory):
    """Does the second of two nodes have to come behind the first?"""
    def of(values):
        return {memory.get(int(x), int(x)) for x in values}
    if not {*a.outs}.isdisjoint(map(int, b.refs())):
        return True
    if a.is_view or b.is_view:
        return False
    read, written = of(b.refs()), of(b.written())
    return bool(of(a.written()) & (read | written) or of(a.refs()) & written
                or isinstance(a, Guard | Draw) and (isinstance(b, Guard | Draw) or b.op.may_fail)
                or isinstance(b, Write) and (isinstance(a, Guard) or bool(a.op.may_fail)))


@pytest.mark.parametrize("seed", range(40))
def test_what_has_to_come_first_does(seed):
    nodes, counts = random_list(random.Random(seed))
    memory = memory_of(nodes)
    clusters = Clusters(nodes, counts, memory, Needs()).all()
    order = [node for cluster in clusters for node in cluster]
    place = {id(node): k for k, node in enumerate(order)}
    assert sorted(place) == sorted(map(id, nodes)) and len(order) == len(nodes)
    for k, a in enumerate(nodes):
        for b in nodes[k + 1:]:
            if has_to_be_behind(a, b, memory):
                assert place[id(a)] < place[id(b)], (str(a), str(b))
    for cluster in clusters:
        found = [counts[id(n)] for n in cluster if not n.is_view and counts[id(n)]]
        assert not found or len({max(found, key=len), frozenset().union(*found)}) == 1


def test_those_of_one_count_follow_each_other():
    a, b, both = frozenset((10,)), frozenset((11,)), frozenset((10, 11))
    nodes = [op("exp", 2, 0), op("exp", 3, 1), op("neg", 4, 2), op("neg", 5, 3),
             op("add", 6, 4, 5), op("exp", 7, 4), op("mul", 8, 6, 7)]
    counts = dict(zip(map(id, nodes), (a, b, a, b, both, a, both), strict=True))
    made = [[n.outs[0] for n in c] for c in Clusters(nodes, counts, {}, Needs()).all()]
    assert made == [[2, 4, 7], [3, 5], [6, 8]]


def test_what_goes_by_no_count_comes_where_it_is_needed():
    a, none = frozenset((10,)), frozenset()
    nodes = [op("exp", 2, 0), op("neg", 3, 1), op("neg", 4, 1), op("add", 5, 2, 3)]
    counts = dict(zip(map(id, nodes), (a, none, none, a), strict=True))
    clusters = Clusters(nodes, counts, {}, Needs()).all()
    assert [[n.outs[0] for n in c] for c in clusters] == [[2, 3, 5], [4]]
    assert [(by, [n.outs[0] for n in run]) for by, run in runs_of(clusters[0], counts)] == [
        (True, [2]), (False, [3]), (True, [5])]


def test_short_lists_join_where_that_leaves_others_alike():
    a, none = frozenset((10,)), frozenset()

    def pieces(*followed):
        """Lists that do the same, each followed by a short one or not."""
        out, counts = [], {}
        for k, is_followed in enumerate(followed):
            one = [op("exp", 100 + k, 0), op("neg", 200 + k, 100 + k)]
            counts.update((id(n), a) for n in one)
            out.append(one)
            if is_followed:
                out.append([op("add", 300 + k, 1, 1)])
                counts[id(out[-1][0])] = none
        return out, counts
    assert [len(p) for p in without_short_ones(*pieces(True, True, True))] == [3, 3, 3]
    assert [len(p) for p in without_short_ones(*pieces(False, False, True))] == [2, 2, 2, 1]
    made = without_short_ones(*pieces(True, True, False))
    assert [len(p) for p in made] == [3, 3, 2] and what_is_done(made[0]) == what_is_done(made[1])


@pytest.mark.parametrize("n", (4, 8, 9))
def test_sizes_that_are_equal_by_chance(n):
    """A product of n rows with a weight of 4 columns has 4 columns, and if n is 4."""
    counted = REGISTRY["nonzero"]
    arrays = [np.empty(s, np.float32) for s in ((8, 20), (20,), (n, 1), (8, n), (n, 4), (8, 4),
                                                (4,), (n, 4), (n * 4,))]
    nodes = [OpNode(counted, (Ref(1),), {}, [2], "here:1"),
             OpNode(REGISTRY["index"], (Ref(0), Ref(2)), {"dims": (1,)}, [3], "here:1"),
             op("matmul", 5, 3, 4), op("sum", 6, 5)]
    sizes = CountsOfSizes(arrays, {2}, set(), Needs())
    sizes.dims[4] = [frozenset((2,)), frozenset()]
    sizes.dims[3] = [frozenset(), frozenset((2,))]
    sizes.add(nodes[0])
    assert sizes.of(2) == [frozenset((2,)), frozenset()]
    assert sizes.add(nodes[2]) == {2} and sizes.of(5) == [frozenset(), frozenset()]
    assert sizes.add(nodes[3]) == frozenset() and sizes.of(6) == [frozenset()]
    view = OpNode(REGISTRY["view"], (Ref(4),), {"size": (n * 4,)}, [8], "here:1")
    assert sizes.add(view) == {2} and sizes.of(8) == [frozenset((2,))]


@pytest.mark.usefixtures("whatever_it_costs")
def test_a_step_has_few_parts_and_the_same_ones_whatever_is_counted():
    whet.manual_seed(0)
    body, cls, box = nn.Linear(6, 8), nn.Linear(8, 4), nn.Linear(8, 4)
    optimizer = whet.optim.AdamW([*body.parameters(), *cls.parameters(), *box.parameters()], 1e-3)

    def step(x, y, t):
        h = body(x).relu()
        logits, boxes = cls(h), box(h)
        pos, hard = y > 0, logits.softmax(1).amax(1) < 0.4
        loss = (F.cross_entropy(logits, y) + F.smooth_l1_loss(boxes[pos], t[pos])
                + logits[hard].logsumexp(1).mean())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(body.parameters(), 1.0)
        optimizer.step()
        return loss.detach()
    rng, traced = np.random.default_rng(0), whet.jit.trace(step)
    for k in range(40):
        y = np.zeros(24, np.int64)
        y[:(k % 8) + 2] = rng.integers(1, 4, k % 8 + 2)
        traced(*map(whet.from_numpy, (rng.standard_normal((24, 6)).astype("f"), y,
                                      rng.standard_normal((24, 4)).astype("f"))))
    programs = [r.program for r in traced._calls.policy.held if r.program.depends_on_counts]
    lengths = {tuple(len(p.shared.numbered.nodes) for p in program.later) for program in programs}
    assert len(lengths) == 1 and len(programs[0].later) <= 7
    assert calls_of(traced)["replayed"] >= 30
