"""What a traced function raises is its own error, with nothing of ours about it."""
import pytest
import whet


def reaches_files(x):
    if x.shape[0] > 100:
        open  # noqa: B018
        open("never")                        # nor can what is within reach be compared
    raise ValueError("mine")


def raises(x):
    raise ValueError("mine")


@pytest.mark.parametrize("fn", [reaches_files, raises])
def test_an_error_has_no_context_of_ours(fn):
    f = whet.jit.trace(fn)
    for _ in range(4):
        with pytest.raises(ValueError, match="mine") as e:
            f(whet.ones(2))
        assert e.value.__context__ is None and e.value.__cause__ is None


def test_the_context_of_a_users_own_stays():
    def fn(x):
        try:
            {}["absent"]
        except KeyError:
            raise ValueError("mine")         # noqa: B904
    f = whet.jit.trace(fn)
    for _ in range(4):
        with pytest.raises(ValueError, match="mine") as e:
            f(whet.ones(2))
        assert type(e.value.__context__) is KeyError
        assert e.value.__context__.__context__ is None
