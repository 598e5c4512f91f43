"""Optimizers whose update is a formula over the elements. A subclass states the formula once; it
runs as one compiled kernel over all tensors of a group, which a trace records as one op, or by one
op for each new tensor (for `differentiable=True`, for odd layouts), with equal bits.
"""
import operator

import numpy as np
import whet
from whet.ir.memory_spans import dense_ones_overlap

from .. import devices
from ..autograd import modes
from ..cpu import native
from ..ops import registry
from .formula_ops import Formulas, formulas
from .optimizer import Optimizer, reevaluate
from .sparse_gradients import is_sparse, leaves_alone, refused, update_rows
from .update_ops import FLOATS, blocks, new_scalars, update_op
from .update_ops import address as kernel_address

MAX_ARGS = 1000                  # arrays of one launch
# elements of a parameter that is updated by an op of its own, and of those that share one. A check
# of a program copies what an op writes to
ALONE, TOGETHER = 1 << 16, 1 << 18
NOTHING: dict = {}               # the state of a parameter that has none
_same = operator.is_


class Elementwise(Optimizer):
    """What a subclass states:

    counts             does the state hold a `step`?
    kind(group)        what changes the formula's form (hashable)
    hypers(group)      the numbers in it, as Python floats
    states(kind)       the names of the state tensors shaped like the parameter
    numbers(x, kind, step, *hypers)           what is worked out once a step, in float64
    elements(x, kind, p, g, states, numbers)  the new parameter, then the new states

    `x` is where functions of the arguments come from, which are expressions: `whet.ir.scalar`.
    """
    counts = True
    # does the first update have another form? (`kind` then ends in "first")
    first_differs = False
    # may a sparse gradient be filled with zeros, where rows without one are updated, too?
    fills_sparse = False
    # names of 0-d float32 state tensors; their values follow the hyper parameters
    scalars: tuple = ()

    def kind(self, group):
        """What changes the form of the formula."""
        return ()

    def start(self, group, p, name):
        """The first value of a state tensor."""
        return whet.zeros_like(p)

    @staticmethod
    def before(x, kind, step, *numbers):
        """The scalar states at the start of a step, whose number is already new; nothing where
        they do not change then."""
        return ()

    @staticmethod
    def after(x, kind, step, *numbers):
        """The scalar states at the end of a step; nothing where they do not change then."""
        return ()

    def step(self, closure=None):
        """One update of all parameters that have a gradient."""
        loss = reevaluate(closure)
        for group in self.param_groups:
            self._step_group(group)
        return loss

    # ---- all at once -----------------------------------------------------------------------------
    def _step_group(self, group):
        live = [p for p in group["params"] if p._grad is not None]
        if not live:
            return
        kind = self.kind(group)
        if modes.state.observers or group.get("differentiable"):
            used = (self, *vars(self).values(), *live, *(p._grad for p in live),
                    *_parts(group), *(x for p in live for x in self.state.get(p, {}).values()))
            registry.carry_out(lambda: self._step_by_ops(group, live, kind), used)
            return
        try:
            self._step_by_plan(group, live, kind)
        except AttributeError:               # before anything was written
            if not any(is_sparse(p._grad) for p in live):
                raise
            self._step_by_ops(group, live, kind)

    def _step_by_plan(self, group, live, kind):
        """An update by the kernels of a plan."""
        plans = self.__dict__.setdefault("_plans", {})
        plan = plans.get(id(group))
        if plan is None or plan.kind != kind or not self._run(plan, group, live):
            fresh = self._prepare(group, live, kind)
            plan = _Plan(self, group, kind, live, fresh)
            if not fresh:
                plans[id(group)] = plan
            self._run(plan, group, live)

    def _prepare(self, group, live, kind):
        """Give state to the parameters that have none; those whose first update differs from the
        later ones."""
        fresh = set()
        for p in live if self.counts or self.states(kind) else ():
            state = self.state[p]
            with whet.no_grad():
                if self.counts and "step" not in state:
                    state["step"] = whet.tensor(0.0, dtype=whet.float32)
                for name in self.scalars:
                    if name not in state:
                        state[name] = whet.tensor(self.start(group, p, name), dtype=whet.float32)
                for name in self.states(kind):
                    if state.get(name) is None:
                        state[name] = self.start(group, p, name)
                        if self.first_differs:
                            fresh.add(p)
        return fresh

    def _found_as_planned(self, plan, live):
        """(arrays, counts of steps, states) of each batch of a plan; None where it does not fit any
        more."""
        if len(live) != len(plan.live) or not all(map(_same, live, plan.live)):
            return None
        state, stateful, found = self.state, self.counts or plan.states, []
        if plan.rest and not self._have_states([p for p, _ in plan.rest], plan.states):
            return None
        try:
            for batch in plan.batches:
                # `state[p]` would make an entry, and so change the order of what is made later.
                owned = [state.get(p, NOTHING) for p in batch.params] if stateful else ()
                arrays = [p._array for p in batch.params]
                for name in plan.states:
                    arrays += [d[name]._array for d in owned]
                if not all(map(_same, arrays, batch.arrays)):
                    return None
                steps = [d["step"]._array for d in owned] if self.counts else ()
                for s in steps:
                    if s.item() != batch.number:
                        return None
                if (self.scalars and any(
                        tuple(d[k]._array.item() for k in self.scalars) != batch.extra
                        for d in owned)):
                    return None
                for p, shape, strides in zip(batch.params, batch.shapes, batch.strides):
                    g = p._grad._array
                    if g.dtype is not batch.dtype or g.shape != shape or g.strides != strides:
                        g = _laid_out(g, p._array)
                    arrays.append(g)
                found.append((arrays, steps, owned))
        except KeyError:
            return None
        return found

    def _have_states(self, params, names):
        """Has each of these parameters the states that its update reads?"""
        names = (*names, *self.scalars, *(("step",) if self.counts else ()))
        return not names or all(self.state.get(p, NOTHING).keys() >= set(names) for p in params)

    def _run(self, plan, group, live):
        """Do a step as planned; False (and nothing done) where the plan does not fit any more."""
        found = self._found_as_planned(plan, live)
        if found is None:
            return False
        hypers = [float(h) for h in self.hypers(group)]
        for batch, (arrays, steps, owned) in zip(plan.batches, found):
            batch.number += 1
            for s in steps:
                s[...] = batch.number
            if steps:
                batch.number = steps[0].item()               # a float32 stops counting at 2^24
            self._advance(batch.form.before, batch, owned, hypers)
            if batch.total:
                native.launch(batch.addr, batch.total, batch.grain, batch.table, batch.count,
                              float(batch.number), *hypers, *batch.extra,
                              *([arrays[i] for i in batch.filled] if batch.filled else arrays))
            self._advance(batch.form.after, batch, owned, hypers)
            writer = plan.writer
            for cell in batch.cells:                         # what `_bump` does
                cell.v += 1
                cell.writer = writer
        for p, kind in plan.rest:
            self._update_by_ops(group, kind, p)
        return True

    def _advance(self, changes, batch, owned, hypers):
        """Change the scalar states of a batch, which are equal."""
        if not changes:
            return
        batch.extra = new_scalars(changes, (batch.number, *hypers, *batch.extra))
        writer = f"{type(self).__name__}.step"
        for d in owned:
            for name, value in zip(self.scalars, batch.extra, strict=True):
                d[name]._array[...] = value
                d[name]._bump(writer)

    # ---- op by op --------------------------------------------------------------------------------
    def _step_by_ops(self, group, live, kind):
        """An update with tensors."""
        fresh = self._prepare(group, live, kind)
        forms = [(p, (*kind, "first") if p in fresh else kind) for p in live]
        for p, form in self._recorded(group, forms):
            self._update_by_ops(group, form, p)

    def _recorded(self, group, forms):
        """Let whoever records do the update of many parameters as one op. Returns the others, with
        the form of the formula that each has."""
        if not modes.state.observers or group.get("differentiable"):
            return forms
        left: list = []
        together: dict = {}
        for p, form in forms:
            if (tensors := self._alike(p, form)) is None:
                left.append((p, form))
            else:
                together.setdefault((p._array.dtype, form), []).append(tensors)
        hypers = [_as_number(h) for h in self.hypers(group)] if together else ()
        for (dtype, form), rows in together.items():
            has_kernel = kernel_address(type(self), form, dtype) is not None
            for some in _shares(rows):
                if not (has_kernel and self._recorded_together(some, form, hypers)):
                    left += [(row[0], form) for row in some]
        return left

    def _recorded_together(self, rows, form, hypers):
        """Let whoever records update some parameters by one op; a row has the tensors of one. Was
        it done?"""
        columns = [*zip(*rows)]
        *targets, gradients = columns
        if not modes.state.observers or dense_ones_overlap(
                [t._array for row in columns for t in row]):
            return False
        op = update_op(type(self), form)  # type: ignore[arg-type]
        with whet.no_grad():
            return modes.state.observers[-1].update(
                op, [t for row in targets for t in row], [*gradients, *hypers],
                {"tensors": len(rows)})

    def _alike(self, p, form):
        """The tensors that an update of a parameter writes to, then its gradient, if all lie in
        memory as the parameter does; else None."""
        g, state = p.grad, self.state.get(p, NOTHING)
        if is_sparse(g) or not p._array.size:
            return None
        tensors = [p, *(state[name] for name in self.states(form))]
        if not _uniform([*(t._array for t in tensors), g._array]):
            return None
        singles = [state[name] for name in (*(("step",) if self.counts else ()), *self.scalars)]
        if any(t._array.shape or t.dtype is not whet.float32 or devices.is_elsewhere(t._array)
               for t in singles):
            return None
        return *tensors, *singles, g

    def _update_by_ops(self, group, kind, p):
        """Update a parameter with tensor ops."""
        with whet.enable_grad() if group.get("differentiable") else whet.no_grad():
            state, g = self.state.get(p, {}), p.grad
            by_rows = is_sparse(g) and leaves_alone(type(self), kind)  # type: ignore[arg-type]
            if is_sparse(g) and not by_rows:
                if not self.fills_sparse:
                    raise refused(self)
                g = g.to_dense()
            step = None
            if self.counts:
                state["step"] += 1
                step = state["step"].to(whet.float64)
            form: Formulas = formulas(type(self), kind)
            hypers = [_as_number(h) for h in self.hypers(group)]
            self._change_scalars(form.before, state, step, hypers)
            hypers += [state[k].to(whet.float64) for k in self.scalars]
            held = [p, *(state[name] for name in self.states(kind))]
            if by_rows:
                numbers = [formula((step, *hypers)) for formula in form.numbers[None]]
                update_rows(form, p, held[1:], [
                    n.to(p.dtype) if isinstance(n, whet.Tensor) else n for n in numbers], g)
                return
            self._write_update(form, [held[0], g, *held[1:]], held, step, hypers,
                               group.get("differentiable"))
            self._change_scalars(form.after, state, step, hypers[:len(hypers) - len(self.scalars)])

    def _write_update(self, form, values, held, step, hypers, differentiable):
        """Update a parameter and its states, `held`; `values` has the gradient, too."""
        if held[0].is_complex():
            values, held = ([whet.view_as_real(t) for t in ts] for ts in (values, held))
        computed = values[0].dtype
        if computed in (whet.float16, whet.bfloat16):
            computed = whet.float32
        numbers = form.rounded_numbers(computed, step, hypers)
        writer = f"{type(self).__name__}.step"
        if not differentiable and _at_once(form, values, numbers):
            for t in held:
                t._bump(writer)
        elif (form.may_replace and not differentiable
              and all(t.dtype is computed for t in values)):
            p, g, *states = values
            form.replace(p, g, states, numbers)
            for t in held:
                t._cell.writer = writer
        else:
            p, g, *states = [t.to(computed) for t in values]
            for t, x in zip(held, form.update(p, g, states, numbers)):
                t.copy_(x)
                t._cell.writer = writer

    def _change_scalars(self, changes, state, step, hypers):
        """Change the scalar states of a parameter."""
        if changes:
            scalars = [state[name].to(whet.float64) for name in self.scalars]
            new = [change((step, *hypers, *scalars)) for change in changes]
            for name, value in zip(self.scalars, new, strict=True):
                state[name].copy_(value)


def _shares(rows):
    """The parameters that an op updates together; a row has the tensors of one."""
    out: list = []
    elements, most = 0, MAX_ARGS // len(rows[0])
    for row in sorted(rows, key=lambda row: row[0]._array.size):
        n = row[0]._array.size
        if not out or n > ALONE or elements + n > TOGETHER or len(out[-1]) >= most:
            out.append([])
            elements = 0
        out[-1].append(row)
        elements += n
    return out


def _at_once(form, values, numbers):
    """Write all new tensors of a parameter on a device by one kernel. Returns whether that was
    possible."""
    arrays = [t._array for t in values]
    if modes.state.observers or not all(map(devices.is_elsewhere, arrays)):
        return False
    words = [n._array if isinstance(n, whet.Tensor) else n for n in numbers]
    return devices.beyond.write_all(form, form.whole, arrays, words,
                                    [0, *range(2, len(arrays))])


def _parts(group):
    """The options of a group, and what is in those that are pairs."""
    for x in group.values():
        yield x
        if type(x) is tuple:
            yield from x


def _as_number(h):
    """A hyperparameter as a float; as a float64 tensor if it is a tensor or varies in a trace."""
    if not isinstance(h, whet.Tensor):
        h = h.item() if isinstance(h, np.generic) else h
        varying = h.__whet_tensor__() if hasattr(h, "__whet_tensor__") else None
        if varying is None:
            return float(h)
        h = varying
    return h.to(whet.float64)


class _Batch:
    """Parameters of one dtype that are at the same step: one launch. `filled` lists the arrays that
    are not empty, if some are; `cells` are the version counters of the arrays (which belong to
    memory, so they stay as long as the arrays do). `extra`: their scalar states."""
    __slots__ = ("params", "arrays", "cells", "shapes", "strides", "dtype", "number", "extra",
                 "form", "addr", "table", "total", "grain", "count", "filled")

    def __init__(self, rows, states, dtype, number, extra, form, addr):
        self.params = [p for p, _ in rows]
        self.arrays = [a for column in zip(*(arrays for _, arrays in rows)) for a in column]
        self.cells = [t._shared() for t in (*self.params, *states)]
        self.shapes, self.strides = ([p._array.shape for p in self.params],
                                     [p._array.strides for p in self.params])
        self.dtype, self.number, self.extra = dtype, number, extra
        self.form, self.addr = form, addr
        full = [i for i, p in enumerate(self.params) if p._array.size]
        # arrays a parameter, its gradient included
        every = len(self.arrays) // len(rows) + 1
        self.filled = (None if len(full) == len(rows) else [
            k * len(rows) + i for k in range(every) for i in full])
        sizes = [self.params[i]._array.size for i in full]
        self.count = len(sizes)
        self.table, self.total, self.grain = blocks(sizes)


class _Plan:
    """The kernels and addresses for updating the parameters of a group, valid as long as their
    memory stays where it is."""
    __slots__ = ("kind", "live", "states", "batches", "rest", "writer")

    def __init__(self, optimizer, group, kind, live, fresh):
        self.kind, self.live, self.states = kind, live, optimizer.states(kind)
        self.writer = f"{type(optimizer).__name__}.step"
        self.rest, self.batches = [], []
        together: dict = {}
        for p in live:
            state, form = optimizer.state.get(p, {}), (*kind, "first") if p in fresh else kind
            arrays = [p._array, *(state[name]._array for name in self.states)]
            if not _uniform(arrays):
                self.rest.append((p, form))
                continue
            number = state["step"]._array.item() if optimizer.counts else 0.0
            extra = tuple(state[k]._array.item() for k in optimizer.scalars)
            together.setdefault((p._array.dtype, number, extra, form), []).append((p, arrays))
        width = 2 + len(self.states)
        for (dtype, number, extra, form), rows in together.items():
            addr = kernel_address(type(optimizer), form, dtype)
            if addr is None or dense_ones_overlap([a for _, arrays in rows for a in arrays]):
                self.rest += [(p, form) for p, _ in rows]
                continue
            most = MAX_ARGS // width
            for i in range(0, len(rows), most):
                some = rows[i:i + most]
                names = (*self.states, "step") if optimizer.counts else self.states
                states = [optimizer.state[p][name] for p, _ in some for name in names]
                self.batches.append(_Batch(
                    some, states, dtype, number, extra, formulas(type(optimizer), form), addr))


def _laid_out(g, like):
    """The gradient in the memory order of its parameter."""
    out = np.empty_like(like)
    if out.shape != g.shape:
        raise RuntimeError(
            f"optimizer: the gradient's shape {g.shape} is not the parameter's, {like.shape}")
    out[...] = g
    return out


def _uniform(arrays):
    """Are all arrays on the CPU, dense, in the same order in memory, writable, and of one
    floating-point type?"""
    a = arrays[0]
    if any(map(devices.is_elsewhere, arrays)):
        return False
    if a.dtype not in FLOATS or not all(b.dtype == a.dtype and b.strides == a.strides and b.shape
                                         == a.shape and b.flags.writeable and b.flags.aligned
                                         for b in arrays):
        return False
    if a.flags.forc:
        return True
    step = a.itemsize
    for n, s in sorted(((n, s) for n, s in zip(a.shape, a.strides) if n != 1),
                       key=operator.itemgetter(1)):
        if s != step:
            return False
        step *= n
    return True
