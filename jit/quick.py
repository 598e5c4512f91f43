"""The short way into a replay: one Python function made for a recording, with its guards as plain comparisons.

For recordings whose arguments are tensors. Those that only launch kernels become nothing but comparisons and one launch; the others
compare what they reach from outside as the long way does (`Recording.fits`), and share its programs. A call that the short way does not
recognise goes the long way.
"""
from whet import dtypes
from whet.autograd import modes
from whet.autograd.node import RELEASED, Node, edge_of
from whet.cpu import memory, native, pool
from whet.tensor import wrap

from .program import Miss

MISSED = object()


def make(recording, leaves, args, kwargs, flags):
    """The function `call(args) -> result or MISSED`; None where the recording wants more."""
    r, p = recording, recording.program
    if kwargs or r.backward is not None or r.cells or p.draws and p.may_miss:
        return None
    simple = not (r.bumps or r.grads or p.may_miss or p.draws or len(p.steps) != 1 or type(p.steps[0]) is not tuple or len(p.steps[0]) != 3)
    if len(leaves) != len(args) or any(a is not b for a, b in zip(args, leaves)):         # every argument a tensor, each another one
        return None
    env = dict(modes=modes, dtypes=dtypes, pool=pool, empty=memory.empty, launch=native.launch, wrap=wrap, MISSED=MISSED, world=r.world,
               state=modes.state, known=r.world.tensors, Miss=Miss, used_up=used_up)
    lines, n = [], len(args)
    names = [f"a{i}" for i in range(n)]

    def given(name, value):
        env[name] = value
        return name

    def guard(test):
        lines.append(f" if {test}: return MISSED")
    guard(f"len(args) != {n}")
    if n:
        lines.append(f" {', '.join(names)}, = args")
    guard(" or ".join([f"state.flags != {flags}", f"pool._threads != {pool._threads}",
                       f"dtypes.get_default_dtype() is not {given('default', dtypes.get_default_dtype())}"]))
    for i, t in enumerate(args):
        a, name = t._array, names[i]
        guard(f"type({name}) is not {given(f'T{i}', type(t))}")
        lines.append(f" x{i} = {name}._array")
        own = r.identity[i] if simple else None
        same = f"{name} is not {given(f'I{i}', own)}" if own is not None else f"id({name}) in known" if r.world.tensors and simple else "False"
        guard(f"x{i}.dtype is not {given(f'D{i}', a.dtype)} or x{i}.shape != {given(f'S{i}', a.shape)} or x{i}.strides != "
              f"{given(f'R{i}', a.strides)} or {name}._rg != {t._rg} or {name}._grad is {'not ' if t._grad is None else ''}None or "
              f"{name}._node is {'not ' if t._node is None else ''}None or {name}._base is {'not ' if t._base is None else ''}None or "
              f"{name}._extra or not x{i}.flags.aligned or {same}")
    for i in range(n):
        for k in range(i):
            guard(f"a{i} is a{k}")
    if simple:
        outside(r, given, guard, lines)
    else:
        guard(f"not {given('fits', r.fits)}(args)")
    argument = {id(t): f"x{i}" for i, t in enumerate(args)}
    where = {}
    for number, (place, array) in zip(p.outside, r.given):
        kind, what = place
        if kind == "grad":
            if what[0] != "object":
                return None
            lines.append(f" o{number} = {given(f'owner{number}', what[1])}._grad._array")
            guard(f"o{number}.shape != {given(f'os{number}', array.shape)} or o{number}.strides != {given(f'ot{number}', array.strides)} "
                  f"or o{number}.dtype is not {given(f'od{number}', array.dtype)}")
            where[number] = f"o{number}"
        elif kind == "argument":
            where[number] = argument[id(leaves[what])]
        else:
            where[number] = given(f"o{number}", what._array) if simple else f"{given(f'o{number}', what)}._array"
    fresh = set(p.fresh)
    for number in p.fresh if simple else ():
        a = p.arrays[number]
        if not a.flags.c_contiguous:
            return None
        lines.append(f" r{number} = empty({given(f'rs{number}', a.shape)}, {given(f'rd{number}', a.dtype)})")
        where[number] = f"r{number}"

    seen = set()

    def thing(place):
        kind, what = place
        return f"a{what}" if kind == "argument" else given(f"thing{id(what)}", what) if kind == "object" else f"{thing(what)}._grad"

    def result(spec):
        kind, what = spec
        if kind == "value":
            k, number, dead, base, rg = what
            if dead is not None and not hasattr(dead, "name") or base is not None or rg & ~1 or simple and (number not in fresh or dead):
                raise LookupError
            if dead is not None:             # its graph was used up
                return f"used_up(env[{number}], {given(f'op{k}', dead.op)}, [{', '.join(map(thing, dead.places))}])"
            if k in seen:
                raise LookupError
            seen.add(k)
            return f"wrap(r{number})" if simple else f"wrap(env[{number}])"
        if kind in (list, tuple):
            return f"{kind.__name__}([{', '.join(result(x) for x in what)}])"
        if kind == "const":
            return given(f"const{len(env)}", what)
        raise LookupError
    try:
        effects = [(place, None if spec is None else result(spec)) for place, spec in r.grads]
        out = result(r.results)
    except LookupError:
        return None
    if simple:
        address, words, count = p.steps[0]
        lines.append(f" launch({address}, 1, 1, {words}, {count}, {', '.join(where.get(m, 'None') for m in p.moving)})")
    else:
        lines.append(f" arrays = [{', '.join(where[n] for n in p.outside)}]")
        if r.writes:
            guard(f"not {given('apart', r.apart)}(arrays)")
        lines.append(f" try: env = {given('program', p)}(arrays)\n except Miss: return MISSED")

    lines += [f" {thing(place)}._bump({writer!r})" for place, writer in r.bumps]
    lines += [f" {thing(place)}._grad = {value}" for place, value in effects]
    lines.append(f" return {out}")
    exec("def call(args):\n" + "\n".join(lines), env)
    return env["call"]


def outside(r, given, guard, lines):
    """Comparisons with what a recording that only computes reaches from outside."""
    w = r.world
    if w.dicts or w.owners or w.empty or any(kind not in ("function", "global", "cell") for kind, *_ in w.rest):
        guard("not world.same()")
    else:
        for k, (d, name, x) in enumerate(w.names):
            guard(f"{given(f'd{k}', d)}.get({name!r}, MISSED) is not {given(f'v{k}', x)}")
        for k, (kind, owner, name, objects) in enumerate(w.rest):
            if kind == "function":
                f = given(f"f{k}", owner)
                code, defaults, keywords = (given(f"f{k}_{j}", x) for j, x in enumerate(objects))
                guard(f"{f}.__code__ is not {code} or {f}.__defaults__ is not {defaults} or {f}.__kwdefaults__ is not {keywords}")
            elif kind == "global":
                guard(f"{name!r} in {given(f'g{k}', owner)}")
        for k, (cell, x) in enumerate(w.cells):
            lines.append(f" try:\n  if {given(f'c{k}', cell)}.cell_contents is not {given(f'cv{k}', x)}: return MISSED\n"
                         " except ValueError: return MISSED")
    for k, (t, array, rg, bare) in enumerate(zip(r.tensors, r.arrays, r.flags, r.bare)):
        t = given(f"t{k}", t)
        guard(f"{t}._array is not {given(f't{k}a', array)} or {t}._rg != {rg} or {t}._grad is {'not ' if bare else ''}None or {t}._extra")


class _Gone:
    """The op of a graph that has been freed."""
    saves_output, nondiff_outputs = False, frozenset()

    def __init__(self, name):
        self.name = name

    def backward(self, node, g):
        """Raise what eager raises."""
        raise RuntimeError(RELEASED)


def used_up(a, op, leaves):
    """A tensor whose graph, which led to some leaves, has been differentiated and freed."""
    t = wrap(a)
    t._rg |= 1
    t._node = gone(op, leaves)
    return t


def gone(op, leaves):
    """The node of such a tensor."""
    node = Node(_Gone(op.name), tuple([edge_of(x) for x in leaves]), {})
    node.released = True
    return node
