"""What tests/fuzz_mutations.py draws from: parts of a program's world, and how they change.

A part has the code that makes it, `reads`, statements of the traced function that go by it or
change it, and `changes`, statements that are run between calls. In reads, `x` is an argument of
four floats and `y` what the function computes, a tensor of four floats, too; `n` is a number.
"""
import dataclasses

from tests import changing_tensors


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of the world."""
    name: str
    made: str
    reads: tuple
    changes: tuple


def parts(text):
    """Parts as they are written below: blocks that begin with `== name`, with `-- reads` and
    `-- changes` in it, one statement a line; `;` stands between statements of a read."""
    for block in text.strip().split("\n== "):
        head, _, rest = block.removeprefix("== ").partition("\n")
        made, _, rest = rest.partition("-- reads\n")
        reads, _, changes = rest.partition("-- changes\n")
        yield Part(head, made, tuple(reads.strip().split("\n")),
                   tuple(changes.strip().split("\n")))


OBJECTS = r"""
== classes and their instances
class A:
    k = 1.0
    def go(self, y): return y * self.k
    @property
    def p(self): return self.k + 1
    @staticmethod
    def s(y): return y + 1
    @classmethod
    def c(cls, y): return y * cls.k
class B(A):
    k = 2.0
    def go(self, y): return super().go(y) - 1
a = A()
-- reads
y = y * a.k
y = a.go(y)
y = y + a.p
y = a.s(y)
y = a.c(y)
y = A.go(a, y)
y = y * getattr(a, 'k')
y = y * vars(a).get('k', 3.0)
y = y * (2 if isinstance(a, B) else 1)
y = y * (2 if type(a) is A else 1)
y = y * (2 if hasattr(a, 'q') else 1)
y = y * len(type(a).__mro__)
y = y * type(a).__name__.count('A')
a.k = a.k * 0.5
a.seen = y
a.count = getattr(a, 'count', 0) + 1
y = y * A().k
y = B().go(y)
-- changes
A.k = 3.0
A.k = n
B.k = 4.0
a.k = 0.5
a.k = 2
a.k = True
vars(a).pop('k', None)
vars(a).clear()
a = A()
a = B()
a.__class__ = B
a.__class__ = A
A.go = lambda self, y: y - self.k
B.go = A.go
A.p = property(lambda self: self.k * 3)
A.p = 2.5
A.s = staticmethod(lambda y: y - 1)
A.c = classmethod(lambda cls, y: y - cls.k)
A.q = 1
a.q = 1
a.go = lambda y: y * 5
A.__getattr__ = lambda self, name: 7.0
A.__getattribute__ = lambda self, name: object.__getattribute__(self, name)
B.__bases__ = (type('C', (A,), {'k': 9.0}),)
A.__name__ = 'AA'
A.k = property(lambda self: 6.0)
class A:\n    k = 8.0; p = 1.0; go = s = c = lambda *a: a[-1] * 8

== slots, descriptors and special methods
class Number:
    def __init__(self, k): self.k = k
    def __mul__(self, y): return y * self.k
    __rmul__ = __mul__
    def __float__(self): return self.k
    def __index__(self): return int(self.k) % 3
    def __len__(self): return int(self.k)
    def __bool__(self): return self.k > 1
    def __eq__(self, o): return self.k == o
    def __lt__(self, o): return self.k < o
    def __hash__(self): return hash(self.k)
    def __call__(self, y): return y + self.k
    def __getitem__(self, i): return self.k * i
    def __iter__(self): return iter([self.k, 2.0])
    def __contains__(self, o): return o == self.k
    def __enter__(self): return self.k
    def __exit__(self, *_): return False
class Described:
    def __get__(self, o, t): return scale * (2 if o is None else 1)
class Slotted:
    __slots__ = 'k', 'j'
    d = Described()
    def __init__(self): self.k = 1.5
scale, number, slotted = 1.0, Number(2.0), Slotted()
-- reads
y = number * y
y = y * float(number)
y = y + y[number]
y = y * len(number)
y = y + (1 if number else 2)
y = y + (number == 2.0)
y = y + (number < 3)
y = number(y)
y = y + number[2]
y = y + sum(number)
y = y + (2.0 in number)
y = y + {2.0: 1, 3.0: 2}.get(number, 5)
with number as k: y = y * k
y = y * slotted.k
y = y * slotted.d
y = y * Slotted.d
y = y * getattr(slotted, 'j', 3)
slotted.j = getattr(slotted, 'j', 0) + 1
number.k = number.k + 1
slotted.k = y.sum().item()
-- changes
number.k = 3.0
number.k = 0.0
number = Number(1.0)
scale = 2.0
slotted.k = 2
slotted.j = 5.0
slotted = Slotted()
Slotted.d = 4.0
Number.__mul__ = lambda self, y: y - self.k
Number.__float__ = lambda self: 9.0
Number.__bool__ = lambda self: True
Number.__len__ = lambda self: 4
Number.__call__ = lambda self, y: y * 0.5
Number.__eq__ = lambda self, o: True
Number.__iter__ = lambda self: iter([1.0])
Number.__exit__ = lambda self, *_: True
Number.__getitem__ = lambda self, i: 1
Described.__get__ = lambda self, o, t: 8.0
Described.__set__ = lambda self, o, v: None
number.__class__ = type('Other', (Number,), {'__mul__': lambda s, y: y * 100})

== dataclasses, enums and named tuples
@dataclasses.dataclass
class Config:
    rate: float = 0.5
    kind: str = 'a'
    sizes: list = dataclasses.field(default_factory=lambda: [1, 2])
    def __post_init__(self): self.twice = self.rate * 2
@dataclasses.dataclass(frozen=True)
class Fixed:
    rate: float = 0.5
class Color(enum.Enum):
    RED = 1.0
    BLUE = 2.0
class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2
Pair = collections.namedtuple('Pair', 'p q')
config, fixed, color, level, pair = Config(), Fixed(), Color.RED, Level.LOW, Pair(1.0, 2.0)
-- reads
y = y * config.rate
y = y * config.twice
y = y * (2 if config.kind == 'a' else 3)
y = y * sum(config.sizes)
y = y * fixed.rate
y = y * dataclasses.replace(config, rate=n).twice
y = y * dataclasses.asdict(config)['rate']
y = y * Config(n).twice
y = y * hash(fixed) if fixed == Fixed(0.5) else y
y = y * color.value
y = y * (2 if color is Color.RED else 3)
y = y * level
y = y + y[level]
y = y * {Color.RED: 1, Color.BLUE: 5}[color]
y = y * len(Color)
y = y * pair.p + pair.q
p, q = pair; y = y * q
y = y * pair._replace(p=n).p
config.rate = config.rate * 0.5
config.sizes.append(len(config.sizes))
config = dataclasses.replace(config, rate=n); y = y * config.twice
match config:\n    case Config(rate=r, kind='a'): y = y * r\n    case _: y = y - 1
match pair:\n    case (1.0, q): y = y + q\n    case (p, q): y = y - p
-- changes
config.rate = 2.0
config.kind = 'b'
config.sizes = [3]
config.sizes.append(1)
config.twice = 3.0
config = Config(1.5, 'b')
Config.__post_init__ = lambda self: setattr(self, 'twice', 9.0)
Config.__init__.__defaults__ = (4.0, 'c', None)
object.__setattr__(fixed, 'rate', 2.0)
fixed = Fixed(3.0)
color = Color.BLUE
level = Level.HIGH
level = 2
Color.RED._value_ = 7.0
pair = Pair(2.0, 3.0)
pair = pair._replace(q=5)
pair = (1.0, 4.0)

== functions, defaults and closures
def plus(y, k=1.0, *, by=2.0): return y * by + k
def maker(k):
    def inner(y): return y * k
    def put(v):
        nonlocal k
        k = v
    return inner, put
inner, put = maker(2.0)
@functools.lru_cache
def cached(k): return k * scale_of
@functools.wraps(plus)
def wrapped(y): return plus(y) + 1
def collecting(v, into=[]):
    into.append(v)
    return len(into)
def by_keyword(*, options={}):
    options['n'] = options.get('n', 0) + 1
    return options['n']
def counted():
    counted.calls = getattr(counted, 'calls', 0) + 1
    return counted.calls
def numbers():
    for k in range(2): yield k * scale_of
scale_of, partial, chosen = 2.0, functools.partial(plus, k=3.0), [plus, lambda y: y * 2]
-- reads
y = plus(y)
y = plus(y, n)
y = plus(y, by=n)
y = inner(y)
put(n); y = inner(y)
put(y.sum()); y = inner(y)
y = y * cached(2.0)
y = y * cached(n)
y = wrapped(y)
y = y + collecting(1.0)
y = y + by_keyword()
y = y * counted()
y = y * sum(numbers())
y = partial(y)
y = chosen[int(n) % 2](y)
y = y * plus.__defaults__[0]
y = (lambda v, k=n: v * k)(y)
y = maker(n)[0](y)
for k in numbers(): y = y + k
y = y * next(stream, 5.0)
y = y + cached.cache_info().misses
-- changes
plus.__defaults__ = (5.0,)
plus.__kwdefaults__ = {'by': 3.0}
plus.__kwdefaults__['by'] = 4.0
plus.__code__ = (lambda y, k=1.0, *, by=2.0: y - k).__code__
def plus(y, k=1.0, *, by=2.0): return y
put(3.0)
put(1)
put(whet.ones(4))
inner.__closure__[0].cell_contents = 0.25
inner, put = maker(1.5)
scale_of = 3.0
cached.cache_clear()
wrapped.__wrapped__ = None
collecting.__defaults__ = ([],)
collecting.__defaults__[0].clear()
by_keyword.__kwdefaults__['options'].clear()
counted.calls = 10
vars(counted).clear()
partial = functools.partial(plus, k=1.0)
partial.keywords['k'] = 7.0
chosen.reverse()
chosen[0] = lambda y: y - 3
def numbers(): yield 4.0
"""

STATE = r"""
== containers
table, items, row, names, queue, counts, chain, default = (
    {'k': 1.0, 'j': 2}, [1.0, 2.0], (1.0, [2.0]), {'p', 'q'},
    collections.deque([1.0, 2.0], maxlen=3),
    collections.Counter(p=2), collections.ChainMap({'k': 1.0}, {'j': 3.0}),
    collections.defaultdict(float))
nested = {'inner': {'deep': [1.0, {'k': 2.0}]}}
-- reads
y = y * table['k']
y = y * table.get('m', 4.0)
y = y * len(table)
for k, v in table.items(): y = y + v
y = y * list(table)[0].count('k')
y = y * items[0]
y = y * sum(items)
y = y * len(items)
y = y + max(items, default=0.0)
y = y * row[1][0]
y = y + ('p' in names)
y = y + len(names)
y = y * queue[0]
queue.append(y.sum().item())
queue.append(n); y = y * queue[-1]
y = y * counts['p']
counts['p'] += 1
counts.update('pq')
y = y * chain['k'] * chain['j']
default['r'] += 1; y = y * default['r']
y = y * nested['inner']['deep'][1]['k']
nested['inner']['deep'][0] = n
table['k'] = table['k'] * 0.5
table['new'] = y
table.setdefault('s', []).append(n)
items.append(n)
items[0] = y.sum()
items.sort()
items.pop(); items.append(1.5)
del table['j']; table['j'] = 1
try:\n    y = y * table['m']\nexcept KeyError as e:\n    y = y + len(str(e))
try:\n    y = y * items[5]\nexcept IndexError:\n    y = y + 1
-- changes
table['k'] = 3.0
table['k'] = 3
table['m'] = 2.0
table.pop('j', None)
table.clear(); table['k'] = 1.0
table = {'j': 2, 'k': 5.0}
table = dict(reversed(table.items()))
items[0] = 4.0
items.append(3.0)
items.reverse()
items[:] = [2.0]
items = [True, 1]
items = (1.0, 3.0)
row[1][0] = 5.0
row[1].insert(0, 7.0)
row = (1.0, [9.0])
names.add('r')
names = frozenset('p')
queue.rotate()
queue = collections.deque([5.0])
counts.clear()
chain.maps[0]['k'] = 2.0
chain.maps.insert(0, {'j': 8.0})
chain = chain.new_child({'k': 6.0})
default.clear()
default.default_factory = lambda: 10.0
nested['inner']['deep'][1]['k'] = 4.0
nested['inner'] = {'deep': [2.0, {'k': 3.0}]}

== modules and the names of a module
helper = types.ModuleType('helper'); helper.k = 1.0; helper.go = lambda y: y * helper.k
exec('def far(y): return y * k', vars(helper))
K, on, mode, text = 2.0, True, 'a', '{:.2f}'
-- reads
y = y * K
y = y * K if on else y - K
y = y * (1 if mode == 'a' else 2)
y = y * helper.k
y = helper.go(y)
y = helper.far(y)
y = y * math.pi
y = y * math.sqrt(abs(K))
y = y + len(text.format(n))
y = y + len(f'{n:{len(mode)}.1f}')
y = y * globals()['K']
y = y + len([k for k in ('K', 'missing') if k in globals()])
K = K * 0.5; y = y + K
last = y
helper.k = helper.k + 1
y = y + abs(n)
y = y + max(n, K)
y = y * float(os.environ.get('WHET_A_TEST_OF_CHANGES', '1.5'))
y = y + int(sys.flags.optimize)
-- changes
K = 3.0
K = 3
K = whet.tensor(2.0)
K = np.float32(1.5)
K = True
on = False
on = []
on = whet.tensor(True)
mode = 'bb'
text = '{:6.3f}'
helper.k = 2.0
helper.k = 2
helper.go = lambda y: y - helper.k
helper.__getattr__ = lambda name: 5.0; del helper.k; helper.k = 1.5
helper = types.SimpleNamespace(k=4.0, go=lambda y: y, far=lambda y: y + 4)
abs = lambda v: 100.0
max = min
os.environ['WHET_A_TEST_OF_CHANGES'] = '2.5'
os.environ.pop('WHET_A_TEST_OF_CHANGES', None)
math = types.SimpleNamespace(pi=3.0, sqrt=lambda v: v)
missing = 1

== generators of random numbers and clocks
generator, draws = whet.Generator(), random.Random(3)
rng = np.random.default_rng(5)
-- reads
y = y + whet.rand(4)
y = y + whet.randn(4, generator=generator)
y = y * random.random()
y = y * draws.uniform(1, 2)
y = y * np.random.rand()
y = y + whet.from_numpy(rng.random(4).astype('f4'))
y = y + whet.randperm(4)
y = F.dropout(y, 0.5)
y = y + whet.empty(4).uniform_(0, n)
y = y[whet.randperm(4, generator=generator)]
y = y * whet.randint(1, 5, ()).item()
y = whet.bernoulli(y.sigmoid()) + y
-- changes
whet.manual_seed(4)
generator.manual_seed(9)
generator = whet.Generator()
generator.set_state(whet.Generator().get_state())
random.seed(2)
draws.seed(1)
draws = random.Random(4)
np.random.seed(5)
rng = np.random.default_rng(6)
whet.rand(3)
random.random()
whet.set_rng_state(whet.get_rng_state())

== modes and settings
guard = [whet.no_grad]
-- reads
y = y * w
with whet.no_grad(): y = y * w
with whet.enable_grad(): y = y * w
with guard[0](): y = y * w
y = y + whet.ones(4)
y = y + whet.arange(4)
y = y + whet.tensor([1.0, 2.0, 3.0, 4.0])
y = y * (2 if whet.is_grad_enabled() else 3)
y = y + (whet.get_default_dtype() is whet.float64)
y = y.to(whet.get_default_dtype())
y = y + whet.linspace(0, n, 4)
with whet.autocast('cpu', dtype=whet.bfloat16, enabled=n > 1): y = (square @ y).float()
y = whet.full((4,), n) * y
y = y + len(str(y.sum()))
with whet.inference_mode(): y = y.detach() + 1
y = y + whet.get_num_threads() * 0
-- changes
whet.set_grad_enabled(False)
whet.set_grad_enabled(True)
whet.set_default_dtype(whet.float64)
whet.set_default_dtype(whet.float32)
guard[0] = whet.enable_grad
guard = [whet.inference_mode]
whet.set_printoptions(precision=2)
whet.set_printoptions(profile='default')
whet.set_num_threads(2)
whet.set_num_threads(1)
w.requires_grad_(False)
w.requires_grad_(True)
"""

PARTS = [*parts(OBJECTS), *parts(STATE), *parts(changing_tensors.TENSORS)]
