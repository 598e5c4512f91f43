"""The byte offsets of the fields of CPython's and NumPy's objects that machine code reads.

Each is stated only here. `runtime/cpu/object_layouts.py` proves them against the running
interpreter before any machine code is called. This file does not load LLVM."""

TYPE = 8                                    # of any object, behind its count of references
HEAD = 16                                   # where an object's own fields begin
GC_HEAD = 16                                # before an object that the collector can track
FLOAT_VALUE = HEAD                          # the value of a float
LENGTH = HEAD                               # of a tuple or a list
TUPLE_ITEMS = HEAD + 8                      # the first element
LIST_ITEMS = HEAD + 8                       # the address of the first element
DICT_LENGTH = HEAD
DICT_VERSION = HEAD + 8                     # promised up to CPython 3.11 only
SLICE_START, SLICE_STOP, SLICE_STEP = HEAD, HEAD + 8, HEAD + 16
CELL = HEAD                                 # what a cell of a closure holds
PROXY = HEAD                                # the mapping behind a mapping proxy
SET_LENGTH = HEAD + 8
SLOT_DEFINITION = HEAD + 24                 # of a slot's descriptor: the address of its definition
SLOT_KIND, SLOT_OFFSET = 8, 16              # in that definition
OBJECT_SLOT = 16                            # the kind of a slot of `__slots__`
OBJECT_MEMBER = 6                           # that of a member that C code may leave empty
ARRAY = dict(data=16, nd=24, dims=32, strides=40, base=48, descr=56, flags=64)
TYPE_BUFFER = 160                           # of a type: its table of the buffer protocol
DTYPE_FLAGS, DTYPE_SIZE = 32, 40            # does it hold references; the bytes of an element
