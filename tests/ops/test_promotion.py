"""Which type operands meet in: every pair, as dimensioned tensors, 0-d tensors and Python numbers.

The tables were made with PyTorch. Where it refuses uint16, uint32 and uint64 beside other integers,
they follow the array API: the smallest type that holds both, and no type for uint64 with signed
integers (`?`).
"""
import pytest
import whet

NAMES = (
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
    "complex64 complex128"
).split()
CODES = "bu1248stvhgfdFD"
TYPE = {c: getattr(whet, n) for c, n in zip(CODES, NAMES)}
CODE = {t: c for c, t in TYPE.items()}

PROMOTED = """
bu1248stvhgfdFD
uu2248stvhgfdFD
12124848?hgfdFD
22224848?hgfdFD
44444848?hgfdFD
88888888?hgfdFD
ss4448stvhgfdFD
tt8888ttvhgfdFD
vv????vvvhgfdFD
hhhhhhhhhhffdFD
gggggggggfgfdFD
ffffffffffffdFD
dddddddddddddDD
FFFFFFFFFFFFDFD
DDDDDDDDDDDDDDD
""".split()
# the first a tensor with dimensions, the second a 0-d tensor
RANKED = """
bu1248stvhgfdFD
uuuuuuuuuhgfdFD
111111111hgfdFD
222222222hgfdFD
444444444hgfdFD
888888888hgfdFD
ssssssssshgfdFD
ttttttttthgfdFD
vvvvvvvvvhgfdFD
hhhhhhhhhhhhhFF
gggggggggggggFF
fffffffffffffFF
dddddddddddddDD
FFFFFFFFFFFFFFF
DDDDDDDDDDDDDDD
""".split()
# a tensor with a Python number
NUMBERS = {
    True: "bu1248stvhgfdFD", 2: "8u1248stvhgfdFD", 2.5: "fffffffffhgfdFD", 2j: "FFFFFFFFFFFFDFD"}

ARITHMETIC = {
    "add": "bifc", "mul": "bifc", "sub": "ifc", "maximum": "bif", "minimum": "bif", "pow": "ifc",
    "floor_divide": "if", "remainder": "if", "fmod": "if"}
TRUE = {"div": "bifc", "atan2": "bif"}                     # integers become floats
COMPARED = {"eq": "bifc", "ne": "bifc", "lt": "bif", "ge": "bif"}
WHOLE = {"bitwise_and": "bi", "bitwise_or": "bi", "bitwise_xor": "bi"}
KIND = {c: k for k, cs in dict(b="b", i="u1248stv", f="hgfd", c="FD").items() for c in cs}


def pairs(table):
    return [
        (TYPE[a], TYPE[b], TYPE.get(r)) for a, row in zip(CODES, table) for b, r in zip(CODES, row)]


def test_promote_types():
    for a, b, want in pairs(PROMOTED):
        if want is None:
            with pytest.raises(RuntimeError):
                whet.promote_types(a, b)
        else:
            assert whet.promote_types(a, b) is want, (a, b)


def ones(t, *shape):
    return whet.ones(shape, dtype=t)


def test_result_type():
    for a, b, want in pairs(PROMOTED):
        for x, y in ((ones(a, 1), ones(b, 2)), (ones(a), ones(b)), (ones(a, 0), ones(b, 0))):
            if want is None:
                with pytest.raises(RuntimeError):
                    whet.result_type(x, y)
            else:
                assert whet.result_type(x, y) is want, (a, b)
    for a, b, want in pairs(RANKED):
        assert whet.result_type(ones(a, 1), ones(b)) is want, (a, b)
        assert whet.result_type(ones(b), ones(a, 1)) is want, (a, b)
    for n, row in NUMBERS.items():
        for c, r in zip(CODES, row):
            for x in (ones(TYPE[c], 1), ones(TYPE[c])):
                assert whet.result_type(x, n) is TYPE[r], (c, n)
                assert whet.result_type(n, x) is TYPE[r], (c, n)


def expected(name, want, kinds):
    """The result type of an op whose operands meet in `want`; None where the op refuses them."""
    if want is None:
        return None
    if name in COMPARED:
        return whet.bool if KIND[CODE[want]] in kinds else None
    if KIND[CODE[want]] not in kinds:
        return None
    return whet.float32 if name in TRUE and KIND[CODE[want]] in "bi" else want


@pytest.mark.parametrize("name", [*ARITHMETIC, *TRUE, *COMPARED, *WHOLE])
def test_arithmetic(name):
    f = getattr(whet, name)
    kinds = {**ARITHMETIC, **TRUE, **COMPARED, **WHOLE}[name]

    def check(x, y, want):
        bools = [getattr(t, "dtype", whet.bool if t is True else None) is whet.bool for t in (x, y)]
        if "b" not in kinds and (all(bools) or name == "sub" and any(bools)):
            return                                          # see test_arithmetic_of_bools
        want = expected(name, want, kinds)
        # the second time through the native entries
        for _ in range(2):
            if want is None:
                with pytest.raises((RuntimeError, TypeError)):
                    f(x, y)
            else:
                assert f(x, y).dtype is want, (x.dtype, y)
    for a, b, want in pairs(PROMOTED):
        check(ones(a, 0), ones(b, 0), want)
    for a, b, want in pairs(RANKED):
        check(ones(a, 0), ones(b), want)
    for n, row in NUMBERS.items():
        for c, r in zip(CODES, row):
            check(ones(TYPE[c], 0), n, TYPE[r])
            check(ones(TYPE[c]), n, TYPE[r])


def test_arithmetic_of_bools():
    x = whet.tensor([True, False])
    for other in (x, ones(whet.int32, 2), ones(whet.float32, 2)):
        for a, b in ((x, other), (other, x)):
            with pytest.raises(RuntimeError, match="Subtraction, the `-` operator, with"):
                a - b
    assert (x + x).tolist() == [True, False] and (x * x).dtype is whet.bool
    with pytest.raises(RuntimeError):
        whet.neg(x)


def test_operators_follow_functions():
    for a, b, want in pairs(PROMOTED):
        if want is not None:
            x, y = ones(a, 2), ones(b, 2)
            assert (x + y).dtype is want and (x * y).dtype is want and (x == y).dtype is whet.bool
            z = x.clone()
            if whet.can_cast(want, a):
                z += y
                assert z.dtype is a
            else:
                with pytest.raises(RuntimeError, match="can't be cast"):
                    z += y
                assert z.tolist() == x.tolist()


@pytest.mark.parametrize("default", [whet.float64, whet.float16, whet.bfloat16])
def test_the_default_type_counts_for_integers(default):
    x, y = whet.tensor([1, 2]), whet.tensor([True])

    def look():
        return [
            t.dtype for t in (x / x, x + 1.5, x.sqrt(), y / 2, x.float().mean(), x * 0.5,
                              whet.true_divide(x, 2))]
    before = [look() for _ in range(2)]
    assert before[0] == before[1] == [whet.float32] * 7
    whet.set_default_dtype(default)
    try:
        for _ in range(2):
            assert look() == [default] * 4 + [whet.float32] + [default] * 2
    finally:
        whet.set_default_dtype(whet.float32)
    assert look() == before[0]


@pytest.mark.parametrize("name", NAMES)
def test_a_type_says_numpys_letter_for_its_kind(name):
    """Libraries ask whether it is in a text of letters, as in `kind in "USV"`. NumPy has no letter
    for bfloat16, which is a float."""
    d = getattr(whet, name)
    assert d.kind == ("f" if name == "bfloat16" else d.np.kind)
    assert d.kind not in "USV"
    assert d.kind in ("c" if d.is_complex else "f" if d.is_floating_point else "biu")


def test_bytes_that_are_no_numbers_have_a_letter_of_their_own():
    assert [d.kind for d in (whet.bits8, whet.int4, whet.qint8)] == ["V"] * 3
    assert whet.float8_e5m2.kind == "f"


def test_a_margin_is_a_float_among_integers():
    one, two, side = whet.tensor([3, 1]), whet.tensor([1, 2]), whet.tensor([1, 1])
    made = whet.nn.functional.margin_ranking_loss(one, two, side, reduction="none")
    assert made.dtype is whet.float32 and made.tolist() == [0, 1]


@pytest.mark.parametrize("name", ["add", "sub"])
@pytest.mark.parametrize("dtype, alpha, what", [
    (whet.int8, True, "Boolean alpha"), (whet.float32, True, "Boolean alpha"),
    (whet.int8, 1.0, "must not be a floating point"), (whet.float32, 1j, "must not be a complex"),
    (whet.int64, 2j, "must not be a complex")])
def test_alpha_is_no_more_than_the_operands_are(name, dtype, alpha, what):
    x = whet.ones(2, dtype=dtype)
    for call in (getattr(whet, name), getattr(whet.Tensor, name), getattr(whet.Tensor, name + "_")):
        with pytest.raises(RuntimeError, match=what):
            call(x, x, alpha=alpha)
    assert x.tolist() == [1, 1]


def test_truth_values_are_added_with_alpha_true():
    x = whet.tensor([True, False])
    assert whet.add(x, x, alpha=True).tolist() == [True, False]
    assert whet.add(x, ~x, alpha=True).dtype is whet.bool
