"""What a function prints, logs and warns of is repeated at sizes that no run had."""
import logging
import math
import warnings

import pytest
import whet
import whet.nn.functional as F
from whet import jit
from whet.jit.policy import account

from .ledgers import unrun

SIZES = (41, 41, 52, 41, 47, 60, 12, 52, 33, 90, 44, 17)
log = logging.getLogger("any_size")


def prints_a_sum(x):
    print("sum", x.sum().item())
    return x * 2


def prints_sizes(x):
    print(f"{x.mean().item():.4f} of {x.shape[0]} rows, {x.shape[0] / 7:.1f} in each")
    return x * 2


def prints_by_a_template(x):
    print("%5d of %s" % (len(x), x.numel()))  # noqa: UP031
    return x * 2


def prints_a_row(x):
    print(x[0])
    return x * 2


def logs(x):
    log.warning("loss %.3f of %d", x.mean().item(), x.shape[0])
    return x + 1


def warns(x):
    warnings.warn("of nothing", stacklevel=1)
    return x + 1


def warns_of_a_default(x):
    return F.kl_div(x, x.exp())


@pytest.fixture
def compare_calls(monkeypatch, capfd, caplog, recwarn):
    """Calls a function at many sizes, eagerly and traced, and compares the results and what is
    printed, logged and warned of. Gives the traced function."""
    monkeypatch.setattr(account, "GRACE", math.inf)
    warnings.simplefilter("always")

    def observed(fn, x):
        caplog.clear()
        recwarn.clear()
        result = fn(x).numpy().tobytes()
        said = [r.getMessage() for r in caplog.records]
        return result, said, [str(w.message) for w in recwarn], capfd.readouterr()

    def compare(fn):
        traced = jit.trace(fn)
        for n in SIZES:
            x = whet.randn(n, 8)
            assert observed(traced, x) == observed(fn, x)
        return traced
    return compare


@pytest.mark.usefixtures("never_sounded")
@pytest.mark.parametrize("fn", [
    prints_a_sum, prints_sizes, prints_by_a_template, prints_a_row, logs, warns,
    warns_of_a_default])
def test_output_is_repeated_at_sizes_that_no_run_had(fn, compare_calls):
    assert unrun(compare_calls(fn)) >= 4


def warns_of_sizes(x):
    return F.mse_loss(x, x[:1])


def goes_by_a_text(x):
    return x * 2 if f"{x.shape[0]}".startswith("4") else x * 3


def keeps_a_text(x):
    named = {f"{x.shape[0]}": x * 2}
    return named.get("52", x)


@pytest.mark.parametrize("fn", [warns_of_sizes, goes_by_a_text, keeps_a_text])
def test_what_goes_by_the_text_of_a_size_is_found_out_anew(fn, compare_calls):
    compare_calls(fn)
