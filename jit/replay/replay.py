"""What a call by a recording does, stage by stage.

    find   the tensors that the program is given, and compare their layouts and overlaps
    ask    whether what acts outside of Python's state would go the same way
    run    the program; until here a miss leaves nothing behind
    count  the writes in the versions of tensors; change what requires a gradient, or has a history
    build  the node for the backward, then all new objects: gradients, results, values of Python's
        state
    write  gradients and values of Python's state; the old ones are used until here
    act    print, log and the like

A call whose guards machine code has compared skips those of the checks that were among them.
"""
from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from whet.tensor import wrap

from ..effects.recipes import Making, Recipe
from ..effects.run_effects import Effects
from ..effects.tensor_recipes import MadeTensor
from ..refusals.replay_miss import Miss
from ..stand_ins.outside_draws import OutsideDraw, draw_again, drawn, put_back
from ..values.tensor_sources import Outside, Search
from .inputs import Inputs, Overlaps
from .spent_gradients import SpentGradients


class Batch:
    """Recipes that are built together. Tensors that are just an array each, which most are, are
    built in one go."""

    def __init__(self, recipes: list[Recipe]):
        self.recipes = recipes
        values = [
            x.value for x in recipes
            if isinstance(x, MadeTensor) and x.is_plain and not x.is_shared]
        self.values = itemgetter(*values) if len(values) == len(recipes) > 1 else None

    def build(self, making: Making) -> list[Any]:
        """Build what the recipes describe."""
        return ([x.build(making) for x in self.recipes] if self.values is None else list(
            map(wrap, self.values(making.env))))


class Replay:
    """The stages of a replay. Its arguments are what a run did: see `capture/`. `acts`: calls that
    act outside of Python's state. `generators`: ours that are drawn from."""

    def __init__(self, program: Any, inputs: Inputs, overlaps: Overlaps | None, effects: Effects,
                 acts: list[Any], generators: list[Any], backward: Any,
                 outside_draws: list[OutsideDraw]):
        self.program, self.inputs, self.overlaps = program, inputs, overlaps
        self.effects = effects
        self.result, self.left, self.grads, self.bumps, self.marks = effects
        result, left, grads, bumps, _ = effects
        self.acts, self.backward = acts, backward
        self.outside_draws = outside_draws
        # Which inputs are drawn, and which leaves these are; None where a call may miss after its
        # draws: saving the state of a generator may take longer than all else.
        may_miss = (program.may_miss or overlaps or acts
                    or any(d.may_miss for d in outside_draws))
        self.drawn_inputs = None if may_miss else inputs.drawn()
        # does it write to containers among the arguments?
        self.fills = bool(left.filled)
        # those that a miss must put back
        self.generators = generators if program.may_miss else []
        self.does_nothing_but_acts = not (overlaps or bumps or grads or left or generators)
        # Mostly all that is written is outside: its tensors are known.
        all_outside = all(isinstance(s, Outside) for s, _ in bumps)
        self.bumped = ([(s.tensor, writer) for s, writer in bumps
                        if isinstance(s, Outside)] if all_outside else [])
        self.new_grads = Batch([recipe for _, recipe in grads])
        self.graded = Search([source for source, _ in grads])
        self.spent = SpentGradients(program, grads)
        self.only_grads_and_result = not (left or acts)
        # Mostly a call gives one new tensor, and lays nothing: it is made without further ado.
        is_plain = isinstance(result, MadeTensor) and result.is_plain and backward is None
        self.only_tensor = (result.value if isinstance(result, MadeTensor) and is_plain
                            and not (grads or left or acts) else None)

    def __call__(self, leaves: Any, boxes: Any = ()) -> Any:
        """The result of a call whose guards were compared in Python; raises Miss if a value
        differs."""
        return self.run_with_arrays(self.inputs.arrays, leaves, boxes)

    def run_with_arrays(self, arrays_of: Callable[[Any], list[Any]], leaves: Any,
                        boxes: Any) -> Any:
        """Run all stages; `arrays_of` is the first. Foreign generators are drawn from before it, or
        after it where nothing can go wrong from there on."""
        if not self.outside_draws:
            return self.run(arrays_of(leaves), leaves, boxes)
        if self.drawn_inputs is not None:
            arrays, tensors = arrays_of(leaves), drawn(self.outside_draws, leaves)
            for i, k in self.drawn_inputs:
                arrays[i] = tensors[k]._array
            try:
                return self.run(arrays, tensors, boxes)
            except Miss as e:                # An eager call would draw once more.
                raise MemoryError(str(e) or "there is too little memory for a replay") from None
        tensors, before = draw_again(self.outside_draws, leaves)
        try:
            return self.run(arrays_of(tensors), tensors, boxes)
        except Miss:
            put_back(before)
            raise

    def run(self, arrays: list[Any], leaves: Any, boxes: Any) -> Any:
        """Run all stages but the first."""
        if self.overlaps is not None and not self.overlaps.are_as_before(arrays):
            raise Miss
        if self.acts:
            self.ask()
        env = self.compute(arrays, leaves)
        self.count_writes(leaves)
        for source, flags in self.marks:
            t = source.find(leaves)
            t._node, t._rg = None, flags
        if self.only_tensor is not None:
            return wrap(env[self.only_tensor])
        making = Making(env, leaves, boxes)
        if self.backward is not None:
            backward = self.program.backward(self.backward, env)
            backward.begin(making, self.inputs.find(leaves))
        grads = self.new_grads.build(making) if self.grads else ()
        if self.only_grads_and_result:
            out = self.result.build(making)
            self.set_gradients(leaves, grads)
            return out
        left = [x.build(making) for x in self.left.recipes]
        out = self.result.build(making)
        acts = [[x.build(making) for x in c.recipes] for c in self.acts]
        self.set_gradients(leaves, grads)
        self.left.write(left, boxes)
        for c, args in zip(self.acts, acts):
            c.does(*args, **c.kwargs)
        return out

    def compute(self, arrays: list[Any], leaves: Any) -> Any:
        """Run the program. Gives its values; raises Miss if a guard on data fails."""
        try:
            if self.generators:
                return self.run_with_draws(arrays)
            if self.spent.values:
                return self.run_over_spent_gradients(arrays, leaves)
            return self.program(arrays)
        except Miss:
            raise
        except BaseException:                # An interrupt: some of it may have been written.
            self.count_writes(leaves)
            raise

    def set_gradients(self, leaves: Any, grads: Any) -> None:
        """Give the tensors their new gradients."""
        if grads:
            for t, g in zip(self.graded.find(leaves), grads):
                t._grad = g

    def ask(self) -> None:
        """Check that the calls which act outside of Python's state would do the same again."""
        for c in self.acts:
            if not c.ready() or not (self.does_nothing_but_acts or c.calm()):
                raise Miss("what the function prints, logs or warns would go another way")

    def run_over_spent_gradients(self, arrays: list[Any], leaves: Any) -> Any:
        """Run the program. Its gradients may overwrite the old gradients that they replace."""
        taken = self.spent.take(self.graded.find(leaves))
        try:
            return self.program(arrays, taken.arrays)
        except Miss:
            taken.give_back()
            raise

    def run_with_draws(self, arrays: list[Any]) -> Any:
        """Run a program that may miss after it has drawn random numbers."""
        before = [(g, g._seed, g._offset) for g in self.generators]
        try:
            return self.program(arrays)
        except Miss:
            for g, seed, offset in before:
                g._seed, g._offset = seed, offset
            raise

    def count_writes(self, leaves: Any) -> None:
        """Count the writes of the call in the versions of tensors."""
        for t, writer in self.bumped:
            t._bump(writer)
        if not self.bumped:
            for source, writer in self.bumps:
                source.find(leaves)._bump(writer)
