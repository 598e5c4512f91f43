"""The passes over a recorded list of nodes, in order. Each is a function `Listing -> Listing` with
the name of its file. It changes no bit, and does not modify the listing that it is given."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence, Set
from typing import Protocol, TypeAlias

from whet.ir.nodes import Node
from whet.ir.values import Array
from whet.passes.batch_kernels import batch_kernels
from whet.passes.chain_products import chain_products
from whet.passes.delay_reductions import delay_reductions
from whet.passes.drop_identities import drop_identities
from whet.passes.drop_unused import drop_unused
from whet.passes.fold_batch_norm import fold_batch_norm
from whet.passes.fold_constants import fold_constants
from whet.passes.fuse_epilogues import fuse_epilogues
from whet.passes.fuse_gathers import fuse_gathers
from whet.passes.fuse_moves import fuse_moves
from whet.passes.fuse_pointwise import fuse_pointwise
from whet.passes.fuse_rows import fuse_rows
from whet.passes.fuse_slices import fuse_slices
from whet.passes.in_place_to_new import in_place_to_new
from whet.passes.join_slices import join_slices
from whet.passes.listing import Listing
from whet.passes.merge_repeats import merge_repeats
from whet.passes.partition import Choice, Forward, Partition, partition
from whet.passes.read_results import read_results
from whet.passes.reassociate import reassociate
from whet.passes.repeat_for_sizes import Plan
from whet.passes.roll_loops import roll_loops
from whet.passes.value_uses import is_view, memories
from whet.passes.write_through import write_through
from whet.passes.writes_to_values import writes_to_values

# raises where a list is broken
Check: TypeAlias = Callable[[Sequence[Node], Sequence[Array]], None]


class KeptPlans(Protocol):
    """What earlier processes had passes make: `jit/program/plan_cache.py`."""

    def name(self, plan: Plan, passes: list[str]) -> str | None:
        """The name of the file of a plan; None if the plan cannot be named."""

    def restore(
        self, name: str, plan: Plan, passes: list[str], root: dict[int, int], arrays: list[Array]
    ) -> bool:
        """Fill the plan with the decisions that were stored for the same list, if there are any."""

    def keep(self, name: str, plan: Plan) -> None:
        """Keep a plan for others."""


PASSES = [(one.__name__, one) for one in (
    fold_constants,      # evaluate what depends on constants (first: see repeat_for_sizes.py)
    in_place_to_new,     # an in-place op on a fresh value makes a new value instead
    writes_to_values,    # another in-place op becomes an op that makes a value, and a copy
    drop_identities,     # drop views and ops that return what exists already
    merge_repeats,       # common subexpression elimination
    read_results,        # gradients read results, so that operands need not be kept
    drop_unused,         # dead code elimination
    join_slices,         # join what was put side by side into zeros and added
    delay_reductions,    # move reductions behind pointwise nodes that do not need them
    fuse_pointwise,      # fuse pointwise nodes of one shape
    fuse_rows,           # fuse reductions with their prologue and epilogue
    fuse_epilogues,      # fuse contractions with what is done to each element of the result
    fuse_moves,          # fuse joins, pads and flips into the kernels that read them
    fuse_gathers,        # fuse gathers into the kernels that read them
    fuse_slices,         # a kernel that reads a slice of another's result computes it itself
    write_through,       # a kernel writes straight to where its result would be copied
    roll_loops,          # repeated steps of an unrolled loop become a loop again
    chain_products,      # successive products run together on blocks of rows
    batch_kernels,       # small kernels that do the same on different tensors share a launch
)]

OURS = frozenset(PASSES)

# the passes whose groups are kernels of devices too
ON_DEVICES = frozenset(one.__name__ for one in (
    fold_constants, in_place_to_new, writes_to_values, drop_identities, merge_repeats, read_results,
    drop_unused, join_slices, delay_reductions, fuse_pointwise, fuse_rows, fuse_epilogues,
    write_through))

# the passes that divide work between a forward and its backwards: see `divided`
PARTITIONS = [("partition", partition)]

# the rewrites that change bits, within the bounds that each states. They run only where
# `jit.trace(rewrites=[...])` asks for them
REWRITES = {"fold_batch_norm": fold_batch_norm, "reassociate": reassociate}


def rewrite(nodes: Sequence[Node], root: dict[int, int], arrays: list[Array], visible: Set[int],
            names: Sequence[str], steady: set[int]) -> tuple[list[Node], set[int], list[str]]:
    """Apply the named rewrites. Returns (nodes, values to keep between calls, texts that say what
    was done or why not)."""
    kept: set[int] = set()
    log: list[str] = []
    known = len(arrays)
    g = Listing(nodes, memories(nodes, root, arrays), arrays, visible)
    for name, one in REWRITES.items():
        if name in names:
            g, more = one(g, steady, log)
            kept |= more
    arrays += g.arrays[known:]
    root.update(
        (o, root[n.ins[0]] if is_view(n) else o) for n in g.nodes for o in n.outs if o >= known
    )
    return g.nodes, kept, log


def planned(nodes: Sequence[Node], root: dict[int, int], arrays: list[Array], visible: Set[int],
            check: Check | None = None, plan: Plan | None = None,
            kept: KeptPlans | None = None) -> tuple[list[Node], Plan]:
    """The nodes after all passes, as `optimize` gives them, and the plan of what was done, for a
    list of the same nodes on other sizes. No pass runs where `plan` is one of this list, or where
    an earlier process has had this very list, as `kept` knows: see `jit/program/plan_cache.py`."""
    passes = [name for name, _ in PASSES]
    new = Plan(nodes, root, arrays, visible)
    if plan is not None and plan.passes == passes:
        made = plan.applied(new, root, arrays)
        if made is not None:
            if check is not None:
                check(made, arrays)
            return made, plan
    kept = kept if OURS.issuperset(PASSES) else None
    name = None if kept is None else kept.name(new, passes)
    if kept is None or name is None or not kept.restore(name, new, passes, root, arrays):
        new.done(optimize(nodes, root, arrays, visible, check), arrays, passes)
        if kept is not None and name is not None:
            kept.keep(name, new)
    elif check is not None:
        check(new.made, arrays)
    return new.made, new


def optimize(nodes: Sequence[Node], root: dict[int, int], arrays: list[Array], visible: Set[int],
             check: Check | None = None, only: Set[str] | None = None) -> list[Node]:
    """Run all passes, or those named in `only`. Entries of values that passes add are put into
    `root` and `arrays`. `check(nodes, arrays)` is called before and after each pass."""
    known = len(arrays)
    g = Listing(nodes, memories(nodes, root, arrays), arrays, visible)
    for name, one in PASSES:
        if only is not None and name not in only:
            continue
        if check is not None:
            check(g.nodes, g.arrays)
        g = one(g)
    if check is not None:
        check(g.nodes, g.arrays)
    arrays += g.arrays[known:]
    root.update((n, n) for n in range(known, len(arrays)))
    return g.nodes


def names() -> list[str]:
    """The names of all passes."""
    return [name for name, _ in (*PASSES, *PARTITIONS)]


def divided(forward: Forward, backwards: Sequence[Sequence[Node]], copied: Callable[[int], int],
            like: Choice | None) -> Partition | None:
    """What is kept of a forward for its backwards, and what is computed again: see `partition`.
    None where all that they read is kept."""
    return PARTITIONS[0][1](forward, backwards, copied, like) if PARTITIONS else None


@contextlib.contextmanager
def without(*left_out: str) -> Iterator[None]:
    """Recordings that are made inside lack some passes: whatever is left out, the bits are the
    same.

    >>> from whet.passes import pipeline
    >>> with pipeline.without("fuse_pointwise", "fold_constants", "fuse_moves"):
    ...     [name for name, _ in pipeline.PASSES][:3]
    ['in_place_to_new', 'writes_to_values', 'drop_identities']
    """
    unknown = set(left_out).difference(names())
    if unknown:
        raise ValueError(
            f"without(): no pass is called {', '.join(sorted(unknown))}; there are "
            f"{', '.join(names())}")
    before = PASSES[:], PARTITIONS[:]
    PASSES[:] = [(name, one) for name, one in PASSES if name not in left_out]
    PARTITIONS[:] = [(name, one) for name, one in PARTITIONS if name not in left_out]
    try:
        yield
    finally:
        PASSES[:], PARTITIONS[:] = before
