"""`python -m whet doctor`: what the command `whet doctor` does, where no command is installed."""
import runpy

if __name__ == "__main__":
    runpy.run_module("whet.jit.command_line", run_name="__main__")
