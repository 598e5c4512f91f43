"""What tests/fuzz_python.py draws from: forms of Python's expressions.

A form has a kind and a text. Slots of the text name the kinds of what stands there:

    i int   f float   n any of Python's numbers   b bool   z a NumPy number
    s str   l list of numbers   d dict of numbers   o an object with numbers in its attributes
    t tensor of four floats   u tensor without dimensions   a array of four floats   v anything
"""

EXPRESSIONS = """
i  {i} + {i}
i  {i} - {i}
i  {i} * {i}
i  {i} // {i}
i  {i} % {i}
i  -{i}
i  +{i}
i  ~{i}
i  abs({i})
i  {i} & {i}
i  {i} | {i}
i  {i} ^ {i}
i  {i} << 2
i  {i} >> 1
i  int({n})
i  int({z})
i  round({n})
i  {b} + {i}
i  len({l})
i  len({s})
i  max({i}, {i})
i  min({l}, default=3)
i  sum(range({i} % 7))
i  divmod({i}, 3)[1]
i  pow({i}, 2, 7)
i  math.floor({n})
i  math.ceil({n})
i  math.trunc({f})
i  math.gcd({i}, 12)
i  operator.index({i})
i  operator.add({i}, {i})
i  hash({i}) % 97
i  hash(({i}, {b})) % 97
i  {l}.index({l}[0])
i  {l}.count({n})
i  {i}.bit_length()
i  {i}.__add__(1)
i  {i}.real
i  {i}.numerator
i  functools.reduce(operator.add, [{i}, {i}], 0)
i  ord(str({i})[-1])
i  (lambda k: k * 2)({i})
i  (lambda k, m={i}: k - m)({i})
i  twice({i})
i  {i} if {b} else {i}
i  {b} and {i}
i  {i} or 5
i  len({{{n}, {n}, {n}}})
i  len({{{n}: 1, {n}: 2}})
i  {o}.n
i  len(plain.names)
i  plain.names["a"] // 1
i  model.names["a"] // 1
f  plain.rate * {n}
t  model.inner({t})
t  {t} + model.mean
t  {t} * model.rate
i  getattr({o}, "n", 1)
i  {o}.doubled
i  {o}.plus({i})
i  vars({o})["n"]
i  int({a}[1])
i  int({u})
i  {t}.argmax().item()
i  int(({t} > {f}).sum())
i  int({s} == "abc")
i  bisect.bisect([1, 2, 3], {n})
i  next(iter(range({i} % 5, 9)))
i  [10, 20, 30][{i} % 3]
i  (10, 20, 30)[{b}]
i  {l}[{i} % len({l})] // 1
i  int(f"{{{name:i}}}")
i  int(str({i}))
i  int.from_bytes(({i} % 256).to_bytes(2, "big"), "big")
b  id({b}) == id({b})
i  sum(1 for q in {l} if q > {n})
i  len([q for q in {l} if q == {n}])
i  copy.copy({i})
i  copy.deepcopy({o}).n
i  dataclasses.replace({o}, n={i}).n
i  dataclasses.asdict({o})["n"]
i  functools.partial(max, {i})({i})
i  chosen({i})
i  remembered({i})
i  Counter([{i}, {i}, 2])[2]
i  np.asarray({l}).size
i  {z}.item() // 1
i  whet.tensor({l}).numel()
i  {t}[{t} > {f}].shape[0]
i  len({t}[{t} > {n}])
i  ({t} > {n}).nonzero().shape[0]
i  {t}.round().unique().numel()
i  {a}[{a} > {f}].size
i  [*{l}, *{t}[{t} > {f}].tolist()].__len__()
f  {f} + {n}
f  {f} - {n}
f  {n} * {f}
f  {i} / {i}
f  {f} / {n}
f  {f} // {n}
f  {f} % {n}
f  {f} ** 2
f  2.0 ** ({f} % 3)
f  -{f}
f  abs({f})
f  float({n})
f  float({z})
f  float({u})
f  float(str({f}))
f  round({f}, 1)
f  max({f}, 0.5)
f  min({n}, {n}, key=abs) * 1.0
f  sum({l}) * 0.5
f  sum([{f}, {n}])
f  math.sqrt(abs({n}))
f  math.exp(-abs({n}))
f  math.sin({f})
f  math.hypot({n}, {n})
f  math.copysign({f}, {n})
f  math.fmod({f}, 3.0)
f  math.prod([{f}, {n}])
f  math.fsum([{f}, {n}])
f  math.ldexp({f}, 2)
f  math.pi * {f}
f  {u}.item()
f  {t}.sum().item()
f  {t}[{i} % 4].item()
f  {t}.tolist()[1]
f  float({a}[0])
f  {a}.sum().item()
f  {o}.x
f  {o}.x * {n}
f  {d}["x"] * 1.0
f  {d}.get("y", {f}) * 1.0
f  float(np.float32({f}))
f  float({z} * {n})
f  {f} if {b} else {f}
f  {f} if {n} > {n} else -{f}
f  {b} * {f}
f  {f}.real
f  {f}.__mul__(2.0)
f  {f}.conjugate()
f  complex({f}, {f}).imag
f  statistics.mean([{f}, {f}])
f  operator.mul({f}, {f})
f  operator.itemgetter(0)([{f}])
f  operator.attrgetter("x")({o})
f  sorted([{f}, {f}])[0]
f  (lambda q: q / 2)({f})
f  [{f} for _ in range(2)][1]
f  next(q for q in [{f}])
f  {{"p": {f}}}["p"]
f  float("%.3f" % {f})
f  float(f"{{{name:f}:.2f}}")
f  struct.unpack("d", struct.pack("d", {f}))[0]
f  np.interp({f}, [0.0, 1.0], [0.0, 2.0]).item()
f  {t}[{t} > {f}].sum().item()
f  {i} / (1 + {t}[{t} > {f}].numel())
b  {n} < {n}
b  {n} <= {n}
b  {n} > {n}
b  {n} >= {n}
b  {n} == {n}
b  {n} != {n}
b  {i} == 2
b  {f} > 0.5
b  0 < {n} < 3
b  not {n}
b  not {b}
b  bool({n})
b  bool({z})
b  {b} and {b}
b  {b} or {b}
b  {b} ^ {b}
b  {n} is {n}
b  {i} is 1
b  {b} is True
b  {n} is not None
b  {n} in {l}
b  {n} not in (1, 2, 3)
b  {n} in {{1, 2, 3}}
b  {i} in range(3)
b  "x" in {d}
b  isinstance({n}, int)
b  isinstance({n}, (float, bool))
b  isinstance({z}, np.floating)
b  isinstance({z}, np.integer)
b  type({n}) is int
b  type({n}) == float
b  type({z}) is np.float64
b  {s} == "1"
b  {s}.startswith("1")
b  {f}.is_integer()
b  {f} == {f}
b  math.isnan({f})
b  math.isinf({f})
b  math.isclose({n}, {n})
b  any(q > 1 for q in {l})
b  all({l})
b  {l} == [1, 2.0, 3]
b  ({n}, {n}) == ({n}, {n})
b  ({n}, {n}) < ({n}, {n})
b  operator.lt({n}, {n})
b  operator.truth({n})
b  operator.contains({l}, {n})
b  hasattr({n}, "bit_length")
b  callable({n})
b  bool({u} > {n})
b  bool(({t} > 0).any())
b  {u}.item() > {n}
b  bool({u} == {n})
b  {z} == {n}
b  {n} < {z}
b  {z} is {z}
b  bool(np.isnan({f}))
b  np.allclose({a}, {n})
b  np.array_equal({a}, {a})
b  {o}.on
b  {o} == Options(1, 2.0, True)
b  dict(n={n}) == {{"n": 1}}
b  numbers.Integral in type({n}).__mro__
b  isinstance({n}, numbers.Real)
z  np.float32({n})
z  np.float64({n})
z  np.int64({i})
z  np.bool_({b})
z  {z} + {n}
z  {n} + {z}
z  {z} * {z}
z  {n} - {z}
z  -{z} * 1
z  abs({z}) * 1
z  {z} ** 2
z  {a}[{i} % 4]
z  {a}.sum()
z  {a}.max()
z  {a}.mean()
z  np.sum({a})
z  np.sum({l})
z  np.mean({l})
z  np.maximum({n}, {z})
z  np.sqrt(np.abs({z}))
z  np.exp(-np.abs({n}))
z  np.add({n}, {n})
z  np.multiply({z}, {n})
z  np.dot({a}, {a})
z  np.clip({n}, 0, 2)
z  np.asarray({n})[()]
z  {t}.numpy().sum()
z  {t}.numpy()[0]
z  {u}.numpy()[()]
z  {t}.detach().numpy().max()
z  np.array({l})[0]
z  {z}.astype(np.float32)
z  np.where({b}, {z}, {n})[()]
z  round({z}, 1)
z  {a}[{a} > {f}].sum()
z  {t}.numpy()[{a} > {f}].sum()
s  str({n})
s  repr({n})
s  f"{{{name:n}}}"
s  f"{{{name:f}:.3f}}"
s  f"{{{name:i}:04d}}"
s  f"{{{name:n}!r}} {{{name:z}}}"
s  "%s" % {n}
s  "%d" % {i}
s  "{{}} {{}}".format({n}, {n})
s  format({f}, ".2e")
s  {s} + {s}
s  {s} * 2
s  {s}[:2]
s  "-".join(map(str, {l}))
s  "".join(str(q) for q in {l})
s  hex({i})
s  bin({i})
s  chr(97 + {i} % 26)
s  "abc"[{i} % 3]
s  str({z})
s  repr({z})
s  str({l})
s  repr({d})
s  repr({o})
s  str({b})
s  type({n}).__name__
s  type({z}).__name__
s  {f}.hex()
s  json.dumps({d})
s  {s}.zfill({i} % 5)
s  f"{{{name:u}.item():.4f}}"
s  str({u})
s  "yes" if {b} else "no"
l  [{n}, {n}]
l  [{n}, *{l}]
l  {l} + [{n}]
l  {l} * 2
l  {l}[1:]
l  {l}[::-1]
l  sorted({l})
l  sorted({l}, key=lambda q: -q)
l  list({d}.values())
l  [q * 2 for q in {l}]
l  [q + {n} for q in {l}]
l  [q for q in {l} if q > {n}]
l  list(map(abs, {l}))
l  list(filter(None, {l})) + [1]
l  list(range({i} % 4)) + [{n}]
l  [*{t}.tolist()]
l  {a}.tolist()
l  list(reversed({l}))
l  list(itertools.accumulate({l}))
l  list(itertools.chain({l}, [{n}]))
l  list(itertools.islice(itertools.count({i}), 2))
l  [p * q for p, q in zip({l}, {l})]
l  [k + q for k, q in enumerate({l})]
l  [({n}, {n})[0]] * 2
l  list(divmod({n}, 3))
l  list({{{n}: 0}})
l  [q for q in ({n} for _ in range(2))]
l  copy.copy({l})
l  list(dict.fromkeys({l}))
l  heapq.nsmallest(2, {l})
l  [max({l}), min({l})]
l  list(counted({i}))
l  {l} if {b} else [{n}]
l  list(math.modf({f}))
l  list(math.frexp({f}))
l  [*np.asarray({l}).tolist()]
l  [{f}.as_integer_ratio()[0] % 7]
l  [{n}, *{t}[{t} > {f}].tolist()]
l  [{n}, *{a}[{a} < {f}].tolist()]
l  [{n}, *({t} > {f}).nonzero().numpy()[:, 0]]
d  {{"x": {n}, "y": {n}}}
d  {{"x": {n}, **{d}}}
d  dict(x={n}, y={n})
d  {{k: q * 2 for k, q in {d}.items()}}
d  {d} | {{"x": {n}}}
d  dict(zip("xy", [{n}, {n}]))
d  dict(sorted({d}.items()))
d  {d}.copy()
d  {{"x": {n} if {b} else {n}}}
d  defaultdict(int, x={n})
o  Options({i}, {f}, {b})
o  Options(n={i}, x={f}, on=True)
o  copy.copy({o})
o  dataclasses.replace({o}, x={f})
o  {o}.scaled({n})
o  {o} if {b} else Options(1, 1.0, False)
t  {t} + {n}
t  {n} - {t}
t  {t} * {n}
t  {n} / ({t} + 10)
t  {t} * {z}
t  {z} * {t}
t  {z} - {t}
t  {t} / {z}
t  {t} + {u}
t  {t} * {b}
t  {t}.mul({n})
t  {t}.add({n}, alpha={n})
t  whet.add({t}, {n})
t  whet.mul({n}, {t}) if False else {t} * {n}
t  {t}.clamp(min={f})
t  {t}.pow(2)
t  {t}.roll({i} % 4)
t  whet.where({t} > {n}, {t}, {n})
t  whet.full((4,), {f})
t  whet.tensor([{n}, {n}, {n}, {n}]) * 1.0
t  whet.tensor([{z}, {n}, {z}, {n}]) * 1.0
t  whet.stack([{u}, {u}, {u}, {u}])
t  whet.lerp({t}, {t}, {f})
t  {t}.masked_fill({t} > 0, {f})
t  {t} + whet.tensor({a})
t  {t} + whet.from_numpy({a})
t  whet.as_tensor({a}) * {t}
t  {t} + whet.arange(4) * {n}
t  {t} + whet.ones(4) * {o}.x
t  ({t} if {b} else -{t})
t  {t}[[{i} % 4, 0, 1, 2]]
t  whet.cat([{t}[:{i} % 4], {t}[{i} % 4:]])
t  {t}.softmax(-1) * {n}
t  F.leaky_relu({t}, {f})
t  F.dropout({t}, 0.5, training=False) + {n}
t  sum([{t}, {t}]) * {n}
t  scaled({t}, {n})
t  scaled({t}, by={z})
t  layer({t}) + {n}
t  {o}.times({t})
t  whet.cat([{t}[{t} > {f}], {t}])[:4]
t  F.pad({t}[{t} > {f}], (0, 4), value={f})[:4]
t  {t} * {t}[{t} > {f}].shape[0]
t  {t}[{t}.argsort()]
t  {t}.masked_scatter({t} > {n}, {t}[{t} > {f}].repeat(4)) if {b} else {t}
t  {t}.index_fill(0, ({t} > {f}).nonzero()[:, 0], {n})
t  whet.repeat_interleave({t}, whet.tensor([{i} % 3, 1, 2, 0]) + 1)[:4]
t  whet.where({t} > {f}, {t}.flip(0), {t}[{i} % 4])
t  whet.cat([{t}[{t} > {f}].cumsum(0), {t}.sort().values])[:4]
t  whet.from_numpy(np.concatenate([{a}[{a} > {f}], {a}])[:4])
u  {t}.sum()
u  {t}.mean() * {n}
u  {t}[{i} % 4]
u  {t}.max() + {z}
u  {u} + {n}
u  {n} * {u}
u  {z} * {u}
u  {u} - {u}
u  whet.tensor({f})
u  whet.tensor({z}) * 1.0
u  whet.tensor(float({n}))
u  {t}.std() / (abs({n}) + 1)
u  {t}[{t} > {f}].sum() * {n}
u  {t}[{t} > {f}].mean()
u  {t}[{t} > {n}].numel() * {u}
u  ({t} > {f}).sum() / 4
a  {a} * {n}
a  {a} + {z}
a  {n} - {a}
a  np.array([{n}, {n}, {n}, {n}], float)
a  np.array([{z}, {n}, {z}, {n}], float)
a  np.full(4, {f})
a  np.linspace(0, {f}, 4)
a  {t}.numpy() * {n}
a  {t}.detach().numpy().copy()
a  np.sort({a})
a  np.roll({a}, {i} % 4)
a  {a}[::-1]
a  np.where({a} > {n}, {a}, {n})
a  np.clip({a}, {n}, 9)
a  np.asarray({t})
a  {a}.astype(np.float32)
a  np.concatenate([{a}[{a} > {f}], {a}])[:4]
a  np.where({a} > {f})[0].sum() * {a}
a  np.cumsum({a})
"""
