"""Every public function and method on wrong arguments: an exception or a result, never a crash,
a hang, or a half-done write."""
import faulthandler
import inspect
import os
import random
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest

SEED, ROUNDS = int(os.environ.get("WHET_FUZZ_SEED", 0)), int(os.environ.get("WHET_BAD_ROUNDS", 12))
# state of the process, files, and what waits or starts others
SKIPPED = """save load set_num_threads set_default_dtype set_printoptions set_grad_enabled
set_default_device manual_seed seed from_file set_deterministic use_deterministic_algorithms
set_deterministic_debug_mode compile
share_memory_ set_num_interop_threads set_float32_matmul_precision set_rng_state inference_mode
no_grad enable_grad set_flush_denormal set_warn_always initial_seed no_grad_ storage untyped_storage
backward register_hook""".split()
BAD_ERRORS = (SystemError, RecursionError, UnboundLocalError, NameError)


def values(whet, r):
    """Something that a function may not expect."""
    f = [
        lambda: whet.ones(2, 3), lambda: whet.arange(6).reshape(2, 3), lambda: whet.ones(0),
        lambda: whet.ones(2, 0, 3), lambda: whet.tensor(1.5), lambda: whet.tensor([True, False]),
        lambda: whet.tensor([5, -7, 10 ** 12]), lambda: whet.ones(3, 1).expand(3, 4),
        lambda: whet.tensor([float("nan"), float("inf"), -float("inf")]),
        lambda: whet.ones(2, 2, dtype=whet.complex64), lambda: whet.ones(4, 4).t(),
        lambda: whet.ones(3, dtype=whet.float16), lambda: whet.ones(3, dtype=whet.bfloat16),
        lambda: whet.ones(2, 3, 4, 5), lambda: whet.ones(1, 1, 1, 1, 1, 1, 1, 1),
        lambda: whet.ones(3, dtype=whet.uint64), lambda: whet.ones(3, requires_grad=True),
        lambda: whet.zeros(3, 3), lambda: whet.tensor(2), lambda: whet.arange(10)[::2],
        lambda: None, lambda: 0, lambda: 1, lambda: -1, lambda: 2, lambda: -2 ** 31,
        lambda: 2 ** 31, lambda: 2 ** 62, lambda: 2 ** 63, lambda: -2 ** 63, lambda: 2 ** 70,
        lambda: 1.5, lambda: float("nan"), lambda: float("inf"), lambda: 1j, lambda: True,
        lambda: "x", lambda: "", lambda: "sum", lambda: [], lambda: (), lambda: [1, 2], lambda:
        (0, 0), lambda: (-1, -1), lambda: [2 ** 40, 2 ** 40], lambda: (3, -2), lambda: [1.5],
        lambda: ["a"], lambda: {}, lambda: {"a": 1}, lambda: {1}, lambda: object(),
        lambda: whet.float32, lambda: whet.int8, lambda: whet.complex128, lambda: np.ones(3),
        lambda: np.float32(2), lambda: np.array(["a"]), lambda: slice(None), lambda: ...,
        lambda: b"xx", lambda: [whet.ones(2), whet.ones(3)], lambda: [[1, 2], [3]],
        lambda: range(3), lambda: len, lambda: (whet.ones(2), None), ]
    return r.choice(f)()


def targets(whet):
    """(name, callable, is it a method) of everything public."""
    seen, out = set(), []
    for prefix, module in (("whet.", whet), ("whet.nn.functional.", whet.nn.functional),
                           ("whet.linalg.", getattr(whet, "linalg", None)),
                           ("whet.fft.", getattr(whet, "fft", None)),
                           ("whet.special.", getattr(whet, "special", None))):
        for name in sorted(dir(module)) if module is not None else ():
            f = getattr(module, name, None)
            if (name[0] != "_" and name not in SKIPPED and callable(f) and not inspect.isclass(f)
                    and id(f) not in seen):
                seen.add(id(f))
                out.append((prefix + name, f, False))
    for name in sorted(dir(whet.Tensor)):
        f = getattr(whet.Tensor, name)
        if ((name[0] != "_" or name.startswith("__") and hasattr(f, "__get__") and name in DUNDERS)
                and name not in SKIPPED and callable(f)):
            out.append(("Tensor." + name, f, True))
    return out


DUNDERS = """__add__ __radd__ __iadd__ __sub__ __rsub__ __mul__ __truediv__ __floordiv__ __mod__
__pow__ __rpow__ __matmul__ __and__ __or__ __xor__ __lshift__ __getitem__ __setitem__ __eq__ __lt__
__neg__ __abs__ __invert__ __bool__ __int__ __float__ __index__ __len__ __iter__ __contains__
__array__ __reversed__ __format__""".split()


def look(whet, x):
    if isinstance(x, whet.Tensor):
        return (x._version, tuple(x.shape), x.detach().numpy().tobytes()
                if x.dtype is not whet.bfloat16 else x.detach().float().numpy().tobytes())
    if isinstance(x, np.ndarray):
        return x.tobytes()
    return [look(whet, y) for y in x] if isinstance(x, list | tuple) else None


def main(seed, rounds):
    """Run in a process of its own; the last line of the log is the call that did not come back."""
    import resource

    import whet
    faulthandler.enable()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    whet.set_num_threads(2)

    class Late(BaseException):
        pass

    def late(*_):
        raise Late
    signal.signal(signal.SIGALRM, late)
    wrong = []
    for name, f, method in targets(whet):
        r = random.Random(f"{seed} {name}")
        for _ in range(rounds):
            args = [values(whet, r) for _ in range(r.choice([1, 1, 2, 2, 3, 4]))]
            if method and not isinstance(args[0], whet.Tensor):
                args[0] = whet.ones(2, 3) if r.random() < 0.5 else whet.arange(4)
            kwargs = ({
                r.choice(["dim", "keepdim", "dtype", "out", "size", "reduction"]): values(whet, r)}
                      if r.random() < 0.2 else {})
            before = look(whet, args)
            text = f"{name}(*{describe(whet, args)}, **{describe(whet, list(kwargs.values()))})"
            print(text, flush=True)
            signal.setitimer(signal.ITIMER_REAL, 10)
            try:
                with np.errstate(all="ignore"):
                    f(*args, **kwargs)
            except Late:
                wrong.append(f"takes more than 10 s: {text}")
            except BAD_ERRORS as e:
                wrong.append(f"{type(e).__name__}: {e}: {text}")
            except Exception:
                if look(whet, args) != before:
                    wrong.append(f"changed an argument before it failed: {text}")
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            if not whet.is_grad_enabled() or whet.get_default_dtype() is not whet.float32:
                wrong.append(f"changed a mode: {text}")
                whet.set_grad_enabled(True)
                whet.set_default_dtype(whet.float32)
    assert (whet.ones(3) + 1).tolist() == [2, 2, 2]
    for w in wrong:
        print("WRONG", w)
    print("DONE", len(wrong), flush=True)


def describe(whet, xs):
    return [
        f"<{x.dtype} {list(x.shape)}>" if isinstance(x, whet.Tensor) else repr(x)[:60] for x in xs]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory with setrlimit")
@pytest.mark.parametrize("native", ["1", "0"])
def test_wrong_arguments(native):
    rounds = ROUNDS if native == "1" else max(1, ROUNDS // 4)
    r = subprocess.run([sys.executable, os.path.abspath(__file__), str(SEED), str(rounds)],
                       capture_output=True,
                       text=True,
                       timeout=600,
                       env=dict(os.environ, WHET_NATIVE=native))
    lines = r.stdout.splitlines()
    assert (r.returncode == 0
            ), f"status {r.returncode} in {lines[-1] if lines else None}\n{r.stderr[-1500:]}"
    assert lines[-1] == "DONE 0", "\n".join(line for line in lines if line.startswith("WRONG"))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))


@pytest.mark.parametrize(
    "call, named",
    [(lambda w: w.diag(3), "diag(): argument 'input' (position 1) must be Tensor, not int"),
     (lambda w: w.kron(w.ones(2), "b"),
      "kron(): argument 'other' (position 2) must be Tensor, not str"),
     (lambda w: w.block_diag(w.ones(2), "b"),
      "block_diag(): argument 'tensors' (position 2) must be Tensor, not str"),
     (lambda w: w.linalg.inv(3), "must be Tensor, not int"),
     (lambda w: w.nn.functional.dropout(None),
      "dropout(): argument 'input' (position 1) must be Tensor, not NoneType"),
     (lambda w: w.nn.functional.linear(w.ones(2), 4),
      "linear(): argument 'weight' (position 2) must be Tensor, not int"),
     (lambda w: w.cumsum(input=[1], dim=0),
      "cumsum(): argument 'input' (position 1) must be Tensor, not list")])
def test_what_should_have_been_a_tensor_is_named(call, named):
    import whet
    with pytest.raises(TypeError) as e:
        call(whet)
    assert named in str(e.value)


@pytest.mark.parametrize("name", [
    "softmax", "log_softmax", "cumsum", "cumprod", "sum", "mean", "linalg.vector_norm",
    "linalg.matrix_norm"])
def test_a_string_is_no_dtype(name):
    import whet
    fn = whet
    for part in name.split("."):
        fn = getattr(fn, part)
    with pytest.raises(TypeError, match="dtype must be a whet.dtype, not 'f'"):
        fn(whet.ones(2, 2), *([] if "linalg" in name else [0]), dtype="f")


@pytest.mark.parametrize("repeats", [2**62, 2**63, 2**61])
def test_more_repeats_than_memory_can_be_addressed(repeats):
    import whet
    for dim in (None, 0, 1):
        with pytest.raises(RuntimeError,
                           match="repeat_interleave: Storage size calculation overflowed"):
            whet.repeat_interleave(whet.ones(4, 4), repeats, dim)


@pytest.mark.parametrize("targets, inputs, lengths, words", [
    ([[1, 2]], [3], [9], "size 1 at dimension 0 and at least 9"),
    ([[1, 2]], [5], [2], "input_lengths to have value at most 3, but got value 5"),
    ([[1, 2]], [3], [-1], "target_lengths to have value at least 0, but got value -1"),
    ([[1, 2], [1, 1]], [3], [2, 2], "input_lengths must be of size batch_size, 2, got 1"),
    ([[1, 2]], [3, 3], [2, 2], "size 2 at dimension 0"),
    ([1, 2, 1], [3, 3], [2, 2], "size 4 at dimension 0, the sum of target_lengths, but got size 3"),
    ([1, 2, 1, 1, 1], [3, 3], [2, 2], "but got size 5"),
    ([[1, 2]], [3.0], [2], "input_lengths must be integral")])
def test_lengths_that_labels_do_not_have(targets, inputs, lengths, words):
    import whet
    scores = whet.zeros(3, len(lengths), 3).log_softmax(-1)
    with pytest.raises(RuntimeError, match=words):
        whet.nn.functional.ctc_loss(scores, whet.tensor(targets), whet.tensor(inputs),
                                    whet.tensor(lengths))
    with pytest.raises(RuntimeError, match="blank must be in label range, 0 to 2, got 3"):
        whet.nn.functional.ctc_loss(scores, whet.tensor([[1]] * len(lengths)), [3] * len(lengths),
                                    [1] * len(lengths), blank=3)


@pytest.mark.parametrize("name", ["histc", "unique", "nonzero", "unique_consecutive", "argwhere"])
@pytest.mark.parametrize("number", [np.float64(1.5), np.float32(2), np.int64(3)])
def test_a_number_of_numpys_is_no_tensor(name, number):
    """It has a type and a size as arrays have, and no memory that machine code could read."""
    import whet
    with pytest.raises(TypeError, match=f"must be Tensor, not {type(number).__name__}"):
        getattr(whet, name)(number)


@pytest.mark.parametrize("name", ["sum", "mean", "var", "logsumexp", "any", "amax", "norm"])
def test_an_integer_of_numpys_is_a_dimension(name):
    import whet
    x = whet.arange(6.0).reshape(2, 3)
    assert getattr(x, name)(dim=np.int64(1)).tolist() == getattr(x, name)(dim=1).tolist()
    assert x.repeat_interleave(np.int64(2), np.int64(0)).tolist() == [*x[[0, 0, 1, 1]].tolist()]
    with pytest.raises(TypeError):
        getattr(x, name)(dim=1.5)
