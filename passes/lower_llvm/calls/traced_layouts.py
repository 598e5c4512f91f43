"""The layout of a *block*, which `jit/tables/native_table.py` writes and the machine code of a
traced call reads. See `traced_calls.py`."""
import enum

from .op_layouts import C as C
from .op_layouts import T as T

# the header, as byte offsets; pairs are (number, where) of a section
H = {
    name: 8 * i
    for i, name in enumerate(("kind", "flags", "count", "busy", "nargs", "names", "opening",
                              "opening_at", "rows", "rows_at",
                              "leaves", "numbers", "slots", "slots_at", "zeros", "zeros_at",
                              "words", "words_at", "soft", "soft_at", "held", "held_at", "bare",
                              "bare_at", "always", "always_at", "dicts", "dicts_at", "lists",
                              "lists_at", "mask", "known_at", "check", "moving", "moving_at",
                              "fresh", "fresh_at", "program", "list", "length", "away", "arena",
                              "stopped", "build", "build_at", "views_at", "sources", "sources_at",
                              "left", "left_at", "apart", "apart_at",
                              "writes", "writes_at", "finish", "type", "size", "until", "code"))}
HEADER = len(H)
# kinds of blocks; an index finds some by what they expect, see `emit_seek`
LAUNCH, PYTHON, EAGER, INDEX = range(4)
# the kinds of rows for objects
(TENSOR, SAME, FLOAT, INT, EQUAL, TUPLE, LIST, DICT, AGAIN, ANY_FLOAT, ANY_INT, ARRAY, NAMED_TUPLE,
 DISTINCT, ANY_SCALAR) = range(15)
# of the flags of a tensor's array: the bits behind these say on which device it is
BEHIND = 16
# slots: at an address, in a dict, in a list; at the end of a list
WORD, ENTRY, ITEM, END = range(4)
# in the place of an object that is compared: any may lie there
ANY = 1
# where the address of an array, or a number, comes from
LEAF, OBJECT, FRESH, ARRAY_LEAF, FLOAT_LEAF, INT_LEAF, SEEN = range(7)
# Steps that build the result. First those that give an object of it; the last of these make one of
# others: a tuple, a list, a dict, what a Python function makes of a tuple. Then views, and what it
# is not made of itself: tensors that its views are of, which are let go of at the end, as are
# arrays that no tensor of it has.
(NEW, CONST, ARGUMENT, ONCE_MORE, AS_FLOAT, AS_INT, AS_SCALAR, AS_ARRAY, PAIR, SERIES, TABLE,
 RECORD, VIEW, ARRAY_VIEW, HIDDEN, HIDDEN_VIEW, DROP, DROP_ARRAY) = range(18)
MAX_OBJECTS, MAX_LEAVES, MAX_FRESH, MAX_MOVING, MAX_DIMS = 512, 80, 80, 512, 8
FRESH_BITS = -(-MAX_FRESH // 64) * 64               # words of a bit for each of these
MOST = 1 << 40                                      # of an int that may be any
FRESH_WORDS = 3 + 2 * MAX_DIMS
# Words of two arrays that may not overlap: which of a call's addresses they have, and between which
# distances of these they would. Words of a tensor that is written to: a pair, and the writer.
APART_WORDS, WRITE_WORDS, MAX_APART = 4, 3, 512
# words of a view. The array is FRESH, or SEEN: one that was compared, and is held from then on.
# BASE: a step that gives it, NEW: none.
SOURCE, BASE, RG, DESCR, ND, OFFSET, DIMS = 0, 2, 4, 5, 6, 7, 8
# blocks that expect arguments of one fingerprint: so many are tried
TRIES = 8
# bits by which a fingerprint is folded onto itself
TURN = 29
J = dict(off=0, slow=8, missed=16, ready=24)        # the words shared with Python
GOLDEN = -7046029254386353131
NAMES = ["traced_call", "traced_get", "traced_enter", "traced_take"]


class ObjectRow(enum.IntEnum):
    """The words of a row that compares an object. KIND says what comes from VALUE on: the leaf of
    a tensor or of any number, the object or the number itself, the length of a container, or the
    number of an object that it must not be."""
    KIND, OBJECT, WORDS, VALUE, FIRST_PART, KEYS = range(6)
    CLASS = KEYS                                    # of a named tuple, or of a NumPy number


class TensorRow(enum.IntEnum):
    """The words of a row that compares a tensor, or a NumPy array, which begins as an `ObjectRow`.
    From SIZES on there are pairs of a size and a stride. For a tensor on a device DTYPE is its
    layout instead, and there are no sizes but the type of its array, and where the array has its
    layout. For a NumPy array TYPE, FLAGS and HAS mean nothing."""
    TYPE, DTYPE, RANK, FLAGS, ARRAY_FLAGS = range(4, 9)
    HAS = 9                                         # bits: a gradient, a node, a base
    IDENTITY = 10                                   # which tensor it must be, or 0
    SIZES = 11
    DEVICE_ARRAY_TYPE, LAYOUT_OFFSET = 11, 12


# ---- blocks for many sizes, see `size_machine.py` ------------------------------------------------
# the head of their code, as byte offsets
CODE = {
    name: 8 * i
    for i, name in enumerate(("symbols", "most", "tensor", "turn", "length", "symbols_at", "now_at",
                              "registers_at", "steps_at"))}
CODE_WORDS, STEP_WORDS = len(CODE), 4
LEAST_SIZE = 2                                      # see LEAST in `ir/symbolic_size.py`


class Do(enum.IntEnum):
    """The operations of their code. Those before REQUIRE have a result."""
    ADD, SUB, MUL, DIV, MOD, MAX, MIN, AND, OR, BITS, EQ, LT, LE, COPY, LOOKUP = range(15)
    REAL, REAL_ADD, REAL_SUB, REAL_MUL, REAL_DIV, REAL_EQ, REAL_LT, REAL_LE, FLOOR = range(15, 24)
    ITEM = 24
    REQUIRE, REFUSE, STORE, STORE_FLOAT = range(25, 29)
