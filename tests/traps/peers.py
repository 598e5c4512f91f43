"""The same traps under other tracers: `torch.jit.trace`, `torch.compile` and `jax.jit`, each beside
its own eager mode.

The programs' text is the same: for torch, `whet` is torch; for jax it is a thin adapter
(`jax_shape.py`), and what jax has no words for (writes in place, gradients as attributes, item of
modules) counts as not expressible. Each peer's eager run is the oracle for that peer, with the
comparisons of the harness, except that floats only have to be close. Each program runs in a process
of its own, under a limit.

    python -m tests.traps --peers                       all, into benchmarks/results/traps.{json,md}
    python -m tests.traps --peers jax.jit limit=60      one of them (the others' rows stay), with another limit
    python -m tests.traps --peers only=new              the programs that have no row yet
"""
import contextlib
import importlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types

PEERS = ["whet", "torch.jit.trace", "torch.compile", "jax.jit"]
OUTCOMES = ["right", "silently different", "different, after a warning", "error", "too slow",
            "not expressible", "not run"]
LIMIT = 60
RTOL, ATOL = 1e-4, 1e-5
ROOT = pathlib.Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"


class Close:
    """Numbers that compare as equal when they are close (floats) or the same."""

    def __init__(self, a):
        import numpy as np
        self.a = np.array(a, copy=True)
        self.a = self.a.astype("f8") if self.a.dtype.kind not in "biufcOSUM" else self.a

    def __eq__(self, other):
        import numpy as np
        a, b = self.a, other.a
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        return (np.allclose(a, b, RTOL, ATOL, equal_nan=True) if a.dtype.kind in "fc"
                else bool((a == b).all()))

    def __repr__(self):
        return str(self.a.tolist())


# ---- in the worker: one peer ---------------------------------------------------------------------
class Peer:
    """A peer in whet's place: its modules, its tracer, and what the harness must do otherwise."""

    def __init__(self, name):
        self.name, self.told, self.errors, self.missing = name, [], [], []
        getattr(self, name.partition(".")[0])()
        from tests.traps import harness
        self.harness = harness
        if name != "whet":
            harness.numbers, harness.of_the_tracer, harness.bits = (
                self.numbers, self.of_the_tracer, Close)
            own = ("TORCH", "TRITON", "PYTORCH", "XLA")
            harness.environment = lambda: sorted((k, v) for k, v in os.environ.items()
                                                 if not k.lstrip("_").startswith(own))
            plain = harness.outcome

            def outcome(call):
                got = plain(call)
                if isinstance(got, tuple) and got[:1] == ("raised",):
                    self.errors.append(got[1])
                    return got[:2]
                return got
            harness.outcome = outcome

    def whet(self):
        """whet itself."""
        import whet
        import whet.jit

        def trace(f, **options):
            self.traced.append(whet.jit.trace(f, **options))
            return self.traced[-1]
        self.trace, self.traced = trace, []

    def torch(self):
        """torch, which has the API."""
        import torch
        import torch._dynamo
        import torch._inductor.compile_fx
        import torch._inductor.config
        import torch.utils.checkpoint
        torch.set_num_threads(1)
        torch.autograd.saved_tensors_hooks = torch.autograd.graph.saved_tensors_hooks
        for name, module in list(sys.modules.items()):
            if name == "torch" or name.startswith(("torch.nn", "torch.optim", "torch.utils",
                                                   "torch.autograd", "torch.random")):
                sys.modules["whet" + name[5:]] = module
        if self.name == "torch.compile":
            # the random numbers of eager mode, which one must ask for
            torch._inductor.config.fallback_random = True
            self.trace = lambda f, **options: torch.compile(f)
            return

        def trace(f, **options):
            made = []

            def call(*args, **kwargs):
                if not made:
                    made.append(torch.jit.trace(f, args or None,
                                                example_kwarg_inputs=kwargs or None))
                return made[0](*args, **kwargs)
            return call
        self.trace = trace

    def jax(self):
        """The adapter, with stand-ins for the modules and classes that jax has not."""
        import jax

        from tests.traps import jax_shape
        self.missing = jax_shape.MISSING

        def stand_in(name, get):
            m = sys.modules[name] = types.ModuleType(name)
            m.__path__, m.__getattr__ = [], get
            return m

        def absent(name):
            if name.startswith("__"):
                raise AttributeError(name)
            return jax_shape.Absent
        sys.modules["whet"] = jax_shape
        for name in ("nn", "optim", "autograd", "utils", "utils.checkpoint"):
            stand_in(f"whet.{name}", absent)
        functional = stand_in("whet.nn.functional", jax_shape.functional)
        jax_shape.nn, jax_shape.optim, jax_shape.autograd = (sys.modules[f"whet.{n}"] for n in ("nn", "optim", "autograd"))
        jax_shape.nn.functional = functional

        def data(x):
            if isinstance(x, (list, tuple)):
                return all(map(data, x))
            return (all(map(data, x.values())) if isinstance(x, dict)
                    else isinstance(x, (jax_shape.Tensor, float, complex)) or type(x) is int)

        def trace(f, **options):
            made = {}

            # what is no number or tensor is static, as a user of jax would say
            def call(*args, **kwargs):
                static = tuple([i for i, x in enumerate(args) if not data(x)])
                names = tuple([k for k, x in kwargs.items() if not data(x)])
                if (static, names) not in made:
                    made[static, names] = jax.jit(f, static_argnums=static, static_argnames=names)
                out = made[static, names](*args, **kwargs)
                return jax.tree.map(lambda x: x if isinstance(x, jax_shape.Tensor) else x.item(),
                                    out, is_leaf=jax_shape.is_tensor)
            return call
        self.trace = trace

    def numbers(self, t):
        """What a tensor holds, as an array."""
        t = t.detach()
        if self.name.startswith("torch"):
            import torch
            t = (t.float() if t.dtype in (torch.bfloat16,) else t).resolve_conj().resolve_neg()
        return t.numpy()

    def of_the_tracer(self, w):
        """Is a warning the tracer's own? Then the user was told."""
        tracer = (w.category.__name__ == "TracerWarning"
                  or any(s in w.filename
                         for s in ("/torch/_dynamo/", "/torch/jit/", "/torch/_inductor/")))
        if tracer and "deprecated" not in str(w.message):
            self.told.append(str(w.message))
        return tracer

    def judge(self, build):
        """(outcome, detail) of one trap."""
        h = self.harness
        if self.name == "whet":
            problem = h.difference(build, self.trace)
            refused = [r for t in self.traced for r in [t.explain(data=True)["refused"]] if r]
            return (("right", f"runs eagerly: {refused[0]}" if refused else "") if problem is None
                    else ("silently different", problem))
        try:
            want = h.run(build, h.eager)
            expected = list(self.errors)
            again = h.run(build, h.eager)
        except BaseException as e:
            return "not expressible", f"{type(e).__name__}: {e}"
        if self.missing:
            return "not expressible", self.missing[0]
        if want != again:
            return "not expressible", "eager differs from eager"
        self.errors.clear()
        try:
            got = h.run(build, self.trace)
        except BaseException as e:
            return "error", f"{type(e).__name__}: {e}"
        for i, (a, b) in enumerate(zip(want, got)):
            for what in a:
                x, y = a[what], b[what]
                # texts name operations, which are others when compiled
                if what == "warned":
                    x, y = [w[0] for w in x], [w[0] for w in y]
                if x != y:
                    detail = (f"yield {i}, {what}: eagerly {str(a[what])[:300]} traced "
                              f"{str(b[what])[:300]}")
                    if [e for e in self.errors if e not in expected]:
                        return "error", detail
                    return (("different, after a warning", self.told[0]) if self.told
                            else ("silently different", detail))
        return "right", ""


def seconds(pid):
    """The processor's time that a process and what it has waited for (compilers) took."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return (sum(map(int, f.read().rpartition(")")[2].split()[11:15]))
                    / os.sysconf("SC_CLK_TCK"))
    except OSError:
        return 0.0


def without_folders(text):
    """A message without the folders of the machine: ours, and those of installed packages."""
    for folder in (ROOT, sys.prefix, tempfile.gettempdir()):
        text = text.replace(f"{folder}/", "")
    return text


def worker(name, limit, known=()):
    """All other traps under one peer, each in a fork of this process; a line of JSON for each."""
    peer = Peer(name)
    from tests.traps.harness import traps
    for trap, build in traps().items():
        if trap in known:
            continue
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1), os.dup2(quiet, 2)
            try:
                result = peer.judge(build)
            except BaseException as e:
                result = "error", f"{type(e).__name__}: {e}"
            with contextlib.suppress(BaseException):
                said = without_folders(result[1])[:600]
                os.write(write, json.dumps([result[0], said]).encode())
            os._exit(0)
        os.close(write)
        start, done = time.monotonic(), False
        while not done and seconds(pid) < limit and time.monotonic() - start < 10 * limit:
            done = os.waitpid(pid, os.WNOHANG)[0] == pid
            time.sleep(0 if done else 0.01)
        if not done:
            os.kill(pid, 9), os.waitpid(pid, 0)
        with os.fdopen(read, "rb") as f:
            text = f.read() if done else b'["too slow", ""]'
        print(json.dumps([trap, *(json.loads(text) if text else ("error", "the process died"))]),
              flush=True)


# ---- the table -----------------------------------------------------------------------------------
def main(arguments):
    """Run the named peers (all that are installed) and write the table."""
    options = dict(a.split("=", 1) for a in arguments if "=" in a)
    limit = int(options.get("limit", LIMIT))
    path = RESULTS / "traps.json"

    def read(): return json.loads(path.read_text()) if path.exists() else {}
    found = read()
    for name in [a for a in arguments if "=" not in a] or PEERS:
        if importlib.util.find_spec(name.partition(".")[0]) is None:
            print(f"({name} is not installed: left out)")
            continue
        rows = found[name]["rows"] if options.get("only") == "new" and name in found else {}
        environment = {**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1", "JAX_PLATFORMS": "cpu",
                       "TF_CPP_MIN_LOG_LEVEL": "3"}
        with subprocess.Popen([sys.executable, "-W", "ignore", "-m", "tests.traps.peers", name,
                               str(limit), *rows], stdout=subprocess.PIPE,
                              text=True, env=environment) as p:
            for line in p.stdout:
                trap, outcome, detail = json.loads(line)
                rows[trap] = outcome, detail
                RESULTS.mkdir(exist_ok=True)
                # another run may write, too
                found = {**read(), name: {"limit": limit, "version": _version(name), "rows": rows}}
                path.write_text(json.dumps(found, indent=1) + "\n")
                print(f"{name:16s} {outcome:26s} {trap}"
                      + (f"   {detail[:110]!r}" if detail else ""), flush=True)
        (RESULTS / "traps.md").write_text(report(found))
    print(report(found).partition("\n## ")[0])


def _version(name):
    return getattr(importlib.import_module(name.partition(".")[0]), "__version__", "")


def report(found):
    """The table as Markdown: totals, then every program."""
    names = [n for n in PEERS if n in found]
    traps = list(dict.fromkeys(t for n in names for t in found[n]["rows"]))
    rows = {n: {t: found[n]["rows"].get(t, ("not run", "")) for t in traps} for n in names}
    count = {n: {o: sum(r[0] == o for r in rows[n].values()) for o in OUTCOMES} for n in names}
    limits = {found[n]["limit"] for n in names}
    lines = [f"# {len(traps)} programs that try to fool a tracer", "",
             "; ".join(f"{n} {found[n]['version']}".strip() for n in names)
             + f". Each beside the eager mode of its own framework; bits for "
             f"whet, for the others rtol {RTOL:g} and atol {ATOL:g}. At most {max(limits)} s of "
             f"the processor for each program.", "",
             "| | " + " | ".join(OUTCOMES) + " |", "|" + "---|" * (len(OUTCOMES) + 1)]
    lines += [f"| {n} | " + " | ".join(str(count[n][o]) for o in OUTCOMES) + " |" for n in names]
    if "whet" in found:
        eager = sum(r[1].startswith("runs eagerly") for r in rows["whet"].values())
        lines += ["",
                  f"Of whet's, {eager} run eagerly in the end for some kind of call, with a "
                  f"warning that says why.", "",
                  "The programs were collected while whet's tracer was made: what it did wrong was "
                  "mended, or is named in docs/promises.md, not "
                  "among them. So whet's row is a regression test, not a sample; the others' rows "
                  "are how their tracers fare on whet's traps."]
    lines += ["", "## Each", "", "| | " + " | ".join(names) + " |", "|" + "---|" * (len(names) + 1)]
    lines += [f"| {t} | " + " | ".join(rows[n][t][0] for n in names) + " |" for t in traps]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    worker(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
