"""The interface of observers, which are notified of each op on their thread, and of each fact that
Python reads of a tensor."""
from .registry import execute


class Observer:
    """Is notified of what runs on its thread, while it is in `modes.state.observers`: every
    primitive, and every fact that Python reads of a tensor. This one changes nothing. The recorder
    of a trace is an observer, and so are the transforms (`autograd/levels.py`)."""
    records = True                  # does it record what runs?
    # eager calls that one kernel computes: are their ops reported one by one?
    wants_parts = True

    def __call__(self, op, inputs, attrs):
        return execute(op, inputs, attrs)

    def ask(self, question, tensors):
        """The answer of `question(*arrays)` about some tensors."""
        return question(*[t._array for t in tensors])

    def item(self, t):
        """The number to give for `t.item()`; None for the plain one."""
        return self.concretize(t)

    def listed(self, t):
        """The nested lists to give for `t.tolist()`; None for plain numbers."""
        return self.concretize(t)

    def sizes(self, t, for_user):
        """What to give for `t.shape`; None for the plain sizes. `for_user`: whet's own code asks
        on behalf of the user's."""

    def concretize(self, t):
        """Python is about to read the elements of a tensor."""

    def exposed(self, t):
        """The memory of a tensor is handed to other code. What to hand over; None for itself."""
        return self.concretize(t)

    def beside(self, source, made):
        """What takes the place of `made`, a new tensor that was made like `source`."""
        return made

    def shown(self, t):
        """A tensor is printed."""

    def array_is_shared(self, t):
        """Other objects than tensors refer to the memory of a tensor: for example, it was made
        around an array."""

    def without_history(self, t):
        """`.data` returned this tensor, which shares the array of another one."""

    def handed_out(self, t):
        """The memory of a tensor is returned as a storage, which can be read and written."""

    def asked(self, t, what):
        """Python reads a fact of a tensor on which no op depends: its history, its address. The
        number to give; None for the plain one."""

    def computed(self, outs):
        """The op that runs has computed these results. Hooks may pack what it saves, and see
        them."""

    def is_number(self, operand):
        """Is this operand of an op, a tensor, a Python number to the code that gave it?"""
        return False

    def freed(self, node):
        """A backward has visited a node, and freed what the node had saved."""

    def read(self, setting):
        """A setting is read; its value is `setting()`."""

    def goes_by(self, holder):
        """The run depends on the attributes of one of whet's objects."""

    def warns(self, message, category, stacklevel):
        """The framework warns. Did the observer give the warning?"""
        return False

    def positioned(self, generator, event):
        """The position of a random generator is set or read: see
        `random_generator_events.py`. False where that cannot be observed."""
        return True

    def refuse(self, reason):
        """Something happens that cannot be observed."""

    def failed(self, error):
        """An operation raises an error that depends on the elements of a tensor."""

    def update(self, op, targets, others, attrs):
        """One op is to write to several tensors, without a history: `targets` are its first
        operands. Did the observer do it? If not, each tensor is written to by an op of its own."""
        return False

    def carry_out(self, compute, used):
        """Call `compute()`, a function of whet that calls no code but that of the objects in
        `used`."""
        return compute()
