"""The memory layouts of tensors, version cells, nodes, arrays and recipes, on which the native
entries and the Python side agree.

Layouts are in 8-byte words unless said otherwise. CTX is one block of memory shared with the Python
side. This file does not load LLVM."""
from .python_layouts import ARRAY, HEAD

# byte offsets of fields
T = dict(array=16, node=24, grad=32, cell=40, base=48, hist=56, rg=64, extra=72, dict=80, weak=88,
         size=96)
C = dict(v=16, h=24, writer=32, shown=40, aside=48, size=56)
MAX_IN, MAX_OUT, MAX_DIMS, MAX_SLOTS, BUCKETS, SIZED_BUCKETS = 12, 4, 6, 160, 4096, 1024
NODE_IN = 6                                 # inputs of a node that machine code makes
MAX_SIZES = 8                               # numbers of an attribute `size` that goes by sizes
# descriptors; those of methods come first, each with a function of its own
DESCRIPTORS, THUNKS = 512, 160
N = dict(op=16, attrs=24, seq=32, nin=40, pre_hooks=48, post_hooks=56, trace=64, released=72,
         out_array=80, out_cell=88, out_version=96, weak=104, nout=112, outlines=120,
         kept_outputs=128, edges=136, saved=136 + 8 * NODE_IN, versions=136 + 16 * NODE_IN,
         size=136 + 24 * NODE_IN)
# what a new object of each type has zeroed; a tensor gets its array at once
FIELDS = {
    "tensor": [
        T[k] for k in ("node", "grad", "cell", "base", "hist", "rg", "extra", "dict", "weak")],
    "cell": [C[k] for k in ("v", "h", "writer", "shown", "aside")],
    "node": range(HEAD, N["size"], 8)}
A = ARRAY
# words of CTX
CTX = {
    name: 8 * i for i, name in enumerate(("thread", "flags", "seq", "tensor", "parameter", "node",
                                          "cell", "slow", "modes", "record", "empty", "stale",
                                          "inside", "getitem", "reshape", "shape", "size",
                                          "immutable", "sizes", "asarray", "elsewhere",
                                          "kind_at", "several", "log", "clock"))}
CTX["table"], CTX["sized"] = 256, 256 + 8 * BUCKETS
CTX["desc"] = CTX["sized"] + 8 * SIZED_BUCKETS
DESC = dict(op=0, attrs=8, slow=16, count=24, reflected=32, writer=40, size=48)
CTX_BYTES = CTX["desc"] + DESC["size"] * DESCRIPTORS
# words of a recipe, as byte offsets
R_HEAD = ("hash", "op", "attrs", "nin", "next", "launches", "nslots", "nouts", "flags", "readers",
          "itemsize", "scratch", "code", "busy", "nsizes", "plan")
R = {name: 8 * i for i, name in enumerate(R_HEAD)}
R["sizes"] = 8 * len(R_HEAD)
R["metas"] = R["sizes"] + 8 * MAX_SIZES
R["operands"] = R["metas"] + 8 * MAX_IN
OPERAND = 8 * (3 + 2 * MAX_DIMS)            # kind, descr, nd, dims, strides
ELSEWHERE = -1                              # the nd of a device's array, whose kind is its descr
R["outs"] = R["operands"] + OPERAND * MAX_IN
# descr, nd, is it row-major (of a view: its byte offset), dims, strides
OUT = 8 * (3 + 2 * MAX_DIMS)
# of each launch its kernel, total, word and number of arguments, then the arguments
R["slots"] = R["outs"] + OUT * MAX_OUT
SLOT = 16                                   # kind, value
LAUNCH = 2 * SLOT                           # what stands before the arguments
OPERAND_BITS = 8                            # of a symbol's place: its operand, then the itemsize
READERS = 8                                 # bits for each operand in the word "readers"
# kinds of operands; VALUE: a number that is part of the key
NOTHING, TENSOR, FLOAT, INT, VALUE, COMPLEX = range(6)
NO_OPERAND = 77                             # what None counts in a hash
# kinds of slots; F32 ... point to a number of that type or of its complex one, VERDICT to a 0,
# SCRATCH so many bytes into the memory that a launch needs meanwhile
CONST, DATA, RESULT, F32, F64, I64, VERDICT, SCRATCH = range(8)
NUMBER_WORDS = 2                            # of a number: its real and its imaginary part
DIFF, SAVES_OUT, VIEW, UNSAFE, NO_BASE, BY_VALUE, CAST_PRODUCT = 1, 2, 4, 8, 16, 32, 64
WRITES = 128                                # the launches are those of a write in place
GRAD, INFERENCE, SPECIAL, CASTS, LISTENED = 1, 2, 4, 0x38, 0x80
# bits of a tensor's `rg`
REQUIRES_GRAD = 1
IN_INFERENCE = 2                            # made in inference mode, whose bit is the same
VIEW_IN_NO_GRAD = 4                         # a view made in no_grad mode
ONE_OF_SEVERAL = 8                          # a view that one call made beside others
OF_FUNCTION = 16                            # by a custom Function, in the memory of an input
VIEW_LIMITS = VIEW_IN_NO_GRAD | ONE_OF_SEVERAL   # what a view of a view has from it
MISS = 1
# what `core` and what it consists of are called with: op, operands, how many, attributes, writer
CORE_ARGUMENTS = (("ptr", "op"), ("ptr", "ins"), ("i64", "n"), ("ptr", "attrs"), ("ptr", "writer"))
TIMED = 1 << 32                             # a bit in the number of operands: see `op_log.py`
# words of a profiler's log, as byte offsets: where the next entry goes and where the memory ends;
# Python functions, null where they are not wanted; the objects that Python was shown, and how
# many more have a place in that table
LOG = {name: 8 * i for i, name in enumerate(("at", "end", "more", "seen", "where", "describe",
                                             "table", "left"))}
LOG_SLOTS = 1 << 13
# words of an entry, as byte offsets; behind them its operands and its results
E = {name: 8 * i for i, name in enumerate(("bytes", "op", "writer", "start", "end", "thread",
                                           "code", "place", "nin", "nout"))}
ENTRY_HEAD = 8 * len(E)
LOG_ARRAY = 8 * (2 + MAX_DIMS)              # descr, nd, dims; a number's has its type and NO_ARRAY
NO_ARRAY = -2
ENTRY_BYTES = ENTRY_HEAD + LOG_ARRAY * (MAX_IN + MAX_OUT)
# the number of a type's slot that frees an object's memory
TP_DEALLOC, TP_FREE = 52, 74
UNARY = ("negative", "absolute")
# the first descriptors, in this order
SLOTS = ("add", "subtract", "multiply", "true_divide", "matrix_multiply", *UNARY)
NAMES = [
    "tensor_dealloc", "tensor_traverse", "tensor_setattr", "cell_dealloc", "node_dealloc",
    "apply", "write", "resized", "call_key", "next_number", "set_flags", "wrap",
    "view_of", "subscript", "reshape", "node_edges", "node_saved_inputs", "node_release",
    *[f"nb_{s}" for s in SLOTS], "function", *[f"method{k}" for k in range(THUNKS)]]
