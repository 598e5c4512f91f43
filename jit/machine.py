"""The machine code that runs lists of launches."""
from whet.cpu import native


def machine():
    """The address of the machine code that runs a list of launches."""
    native.export("whet_pool_run", native.symbol("pool_run"))

    def source():
        from whet.passes.lower_llvm import program
        return program.source()
    return native.image("jit/program", source, ["program"])["program"]
