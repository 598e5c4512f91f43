"""Every kernel that the ops' samples launch, compiled for sm_80 and sm_90 without a GPU.

    python -m tests.cuda.compiles            # all ops: long
    python -m tests.cuda.compiles sort index
"""
import sys

from whet.cuda import machine
from whet.cuda.simulated.driver import SimulatedDriver
from whet.passes.lower_triton import compile

from tests.cuda import sweep


def check(sources, capabilities=(80, 90)):
    """Compile sources; a kernel must not spill."""
    for source in sources:
        for capability in capabilities:
            made = compile.compile(source, capability)
            assert made.binary[:4] == b"\x7fELF", source.name
            assert not made.stack, f"{source.name} spills {made.stack} bytes for sm_{capability}"


def main():
    done = set()
    for name in sys.argv[1:] or sweep.TESTED:
        with sweep.by_the_cpu(), machine.use(SimulatedDriver()) as m:
            try:
                sweep.check(name)
            except NotImplementedError:
                continue
        new = {source for _, source, _ in m.kernels} - done
        for source in new:
            try:
                check([source])
                print(f"{name}: {source.name}", flush=True)
            except Exception as error:
                print(f"{name}: {source.name} FAILED: {str(error)[:300]}", flush=True)
        done |= new


if __name__ == "__main__":
    main()
