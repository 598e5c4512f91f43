"""PyTorch's own operator, module and optimizer suites, run with whet in the place of torch.

    python -m tests.opinfo                        all of it
    python -m tests.opinfo --only add nn.Linear   some entries, with every difference shown
    python -m tests.opinfo --part operators       one of operators, modules, optimizers

PyTorch ships lists of what it tests its operators with: sample inputs, inputs that must raise, and
which variants and types there are. Here each is called on both sides. The interpreter that runs
this needs torch and expecttest beside whet; where they are not installed it says so and ends.
Nothing else in the project imports torch.
"""
