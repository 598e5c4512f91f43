"""What machine code leaves to Python: a function made for a recording, which does the rest of a replay once all guards were compared."""
from whet.autograd.node import next_number
from whet.tensor import wrap

from ..capture.varying_numbers import FACTS, tensor_of
from ..gradient.freed_graphs import Pit, used_up
from ..guards.native_entry import MISSED
from ..guards.result_steps import left_by
from ..program.program import Miss


def rest(r, leaves):
    """A function of the leaves that does the rest of a replay, once all guards have been compared: the result or MISSED."""
    try:
        return _written(r, leaves)
    except LookupError:
        pass

    def replay(*given):
        if not r.lock.acquire(False):
            return MISSED
        try:
            own = [None] * len(given)
            for i, x in zip(leaves.order, given):
                own[i] = tensor_of(x) if leaves.number[i] else x
            return r.run(own)
        except Miss as e:
            r.missed.add(e.reason)
            return MISSED
        finally:
            r.lock.release()
    return replay


def _written(r, leaves):
    """The same as a function written for the recording; LookupError where a replay must be able to go back further."""
    p, b = r.program, r.backward
    if r.acts or r.marks or p.draws and p.may_miss:
        raise LookupError
    env = dict(wrap=wrap, MISSED=MISSED, Miss=Miss, used_up=used_up, Pit=Pit, next_number=next_number, lock=r.lock, program=p, make=r.make,
               tensor_of=tensor_of)
    names = [f"a{i}" for i in leaves.order]
    everything = f"[{', '.join(f'a{i}' for i in range(len(names)))}]"
    lines = [f"a{i} = tensor_of(a{i})" for i in leaves.order if leaves.number[i]]

    def given(name, value):
        env[name] = value
        return name

    def thing(place):
        return _thing(place, given)
    arrays, outside = [], []
    for number, (place, array) in zip(p.outside, r.given):
        outside.append(f"{number}: {thing(place)}")
        if place[0] == "grad":               # the only ones that the table does not look at
            o = f"o{number}"
            lines += [f"{o} = {thing(place)}",
                      f"if {o} is None or {o}._rg: return MISSED",
                      f"{o} = {o}._array",
                      f"if {o}.shape != {given(f's{number}', array.shape)} or {o}.strides != {given(f't{number}', array.strides)} "
                      f"or {o}.dtype is not {given(f'd{number}', array.dtype)}: return MISSED"]
            arrays.append(o)
        else:
            arrays.append(f"{thing(place)}._array")
    seen = set()
    specs = left_by(r)
    lines.append(f"arrays = [{', '.join(arrays)}]")
    if r.writes:
        lines.append(f"if not {given('apart', r.apart)}(arrays): return MISSED")
    lines += ["try: env = program(arrays)", "except Miss: return MISSED"]
    lines += [f"{thing(place)}._bump({writer!r})" for place, writer in r.bumps]
    try:
        if b is not None or r.cells:
            raise LookupError
        grads = [(place, None if spec is None else _result(spec, given, seen)) for place, spec in r.grads]
        left = [_result(spec, given, seen) for spec in specs]
        out = _result(r.results, given, seen)
    except LookupError:                      # by the recipe
        lines += ["made = {'boxes': (), 'cells': {}}", f"leaves = {everything}"]
        if b is not None:
            lines += [f"node = {given('call', b.node)}(env, [{', '.join(map(thing, b.places))}], {{{', '.join(outside)}}}, "
                      f"lambda t, n: {given('tie', r.tie)}(made['cells'], leaves, t, n))",
                      f"made['exits'], made['number'] = {given('exits', b.exits)}(node), node.seq"]
        grads = [(place, None if spec is None else f"make({given(f'grad{i}', spec)}, env, leaves, made)") for i, (place, spec) in enumerate(r.grads)]
        left = [f"make({given(f'left{i}', spec)}, env, leaves, made)" for i, spec in enumerate(specs)]
        out = f"make({given('results', r.results)}, env, leaves, made)"
    lines += [f"leaf{i}, grad_of{i} = {thing(place)}, {value}" for i, (place, value) in enumerate(grads)]
    lines += [f"{', '.join(f'n{i}' for i in range(len(left)))}, out = {', '.join((*left, out))}"] if left else [f"out = {out}"]
    lines += [f"leaf{i}._grad = grad_of{i}" for i in range(len(grads))]           # (until here those that were there before are)
    lines += [spot.statement(i, f"n{i}", given) for i, (spot, _) in enumerate(r.effects)]
    at = len(r.effects)
    for i, (real, grown) in enumerate(r.growths):
        lines.append(f"{given(f'list{i}', real)}.extend([{', '.join(f'n{at + k}' for k in range(len(grown)))}])")
        at += len(grown)
    lines.append("return out")
    body = "\n".join("  " + line for line in lines)
    exec(f"def replay({', '.join(names)}):\n if not lock.acquire(False): return MISSED\n try:\n{body}\n finally: lock.release()", env)
    return env.pop("replay")                 # (which would hold itself)


def _thing(place, given):
    """What is at a place, as an expression; `given` names objects."""
    kind, what = place
    if kind in FACTS:
        raise LookupError
    if kind == "data":
        return f"{_thing(what, given)}.data"
    return f"a{what}" if kind == "argument" else given(f"thing{id(what)}", what) if kind == "object" else f"{_thing(what, given)}._grad"


def _result(spec, given, seen):
    """A result as an expression, each tensor once."""
    kind, what = spec
    if kind == "value":
        k, number, dead, base, rg = what
        if dead is not None and not hasattr(dead, "name") or base is not None or rg & ~1 or k in seen:
            raise LookupError
        seen.add(k)
        if dead is not None:                 # its graph was used up
            places = ["None" if p is None else _thing(p, given) for p in dead.places]
            pit = "pit" if "pit" in seen else "(pit := Pit(next_number()))"
            seen.add("pit")
            return f"used_up(env[{number}], {given(f'dead{k}', dead)}, [{', '.join(places)}], {pit})"
        return f"wrap(env[{number}])"
    if kind in (list, tuple):
        return f"{kind.__name__}([{', '.join(_result(x, given, seen) for x in (what[1] if kind is list else what))}])"
    if kind == "const":
        return given(f"const{id(what)}", what)
    if kind == "item":
        return f"env[{what}].item()"
    raise LookupError
