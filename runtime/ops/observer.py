"""What sees each op that runs on a thread, and each question that Python asks of a tensor."""
from .registry import execute


class Observer:
    """Sees what runs on its thread, while it is in `modes.state.observers`: every primitive, and
    every question that Python asks of a tensor. This one lets all pass; `jit.record` has one that
    writes it down, and the transforms have some (`autograd/levels.py`)."""
    records = True                  # does it write down what runs?
    # does it want what one kernel does of an eager call as the ops that this stands for?
    wants_parts = True

    def __call__(self, op, inputs, attrs):
        return execute(op, inputs, attrs)

    def ask(self, question, tensors):
        """What `question(*arrays)` says of some tensors."""
        return question(*[t._array for t in tensors])

    def item(self, t):
        """The number to give for `t.item()`; None for the plain one."""
        return self.concretize(t)

    def listed(self, t):
        """The nested lists to give for `t.tolist()`; None for plain numbers."""
        return self.concretize(t)

    def sizes(self, t, for_user):
        """What to give for `t.shape`; None for the plain sizes. `for_user`: code of ours asks, as a
        user's would."""

    def concretize(self, t):
        """Python is about to see the numbers of a tensor."""

    def exposed(self, t):
        """The memory of a tensor is given away. What to give in its place; None for itself."""
        return self.concretize(t)

    def beside(self, source, made):
        """The tensor that was made in the likeness of `source`, as it shall be."""
        return made

    def shown(self, t):
        """A tensor becomes text."""

    def array_is_shared(self, t):
        """The memory of a tensor is known to others than tensors: it was made around an array,
        say."""

    def without_history(self, t):
        """`.data` gave this tensor, which is around the array of another one."""

    def handed_out(self, t):
        """Somebody gets the memory of a tensor as a storage: he may ask anything of it, and write
        to it."""

    def asked(self, t, what):
        """Somebody asks for a fact of a tensor that is no part of what ops see: its history, its
        address. The number to give; None for the plain one."""

    def computed(self, outs):
        """The op that runs has made these. What it saves may be packed by hooks, which see
        them."""

    def is_number(self, operand):
        """Is this operand of an op, a tensor, a Python number to the code that gave it?"""
        return False

    def freed(self, node):
        """A backward has gone through a node, and dropped what the node had saved."""

    def read(self, setting):
        """Somebody asks for a setting; `setting()` is what it is."""

    def goes_by(self, holder):
        """What happens depends on the attributes of one of whet's objects."""

    def warns(self, message, category, stacklevel):
        """The framework warns. Was it done?"""
        return False

    def positioned(self, generator, event):
        """A generator of random numbers is put somewhere, or asked where it is: see
        `random_generator_events.py`. False where that cannot be observed."""
        return True

    def refuse(self, reason):
        """Something happens that cannot be observed."""

    def failed(self, error):
        """An operation raises an error that the numbers of a tensor are the reason of."""

    def update(self, op, targets, others, attrs):
        """Several tensors are to be written to by one op, without a history: `targets` are its
        first operands. Was it done? Else it is done by an op for each."""
        return False

    def carry_out(self, compute, used):
        """Call `compute()`, which is ours, and calls no code but that of the objects that it
        uses."""
        return compute()
