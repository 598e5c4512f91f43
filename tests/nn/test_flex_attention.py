"""`flex_attention`: scores that functions of positions change, under masks in blocks."""
import math
import pickle
import warnings

import pytest
import whet
import whet.nn.functional as F
from whet.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    noop_mask,
    or_masks,
)

B, H, Q, K, E = 2, 4, 40, 56, 8
LENGTHS = whet.tensor([20, K])
DOCUMENTS = whet.arange(K) // 15


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


def near(b, h, q_idx, kv_idx):
    return q_idx - kv_idx < 10


def of_one_document(b, h, q_idx, kv_idx):
    return DOCUMENTS[q_idx] == DOCUMENTS[kv_idx]


def within_length(b, h, q_idx, kv_idx):
    return kv_idx < LENGTHS[b]


def from_the_second(b, h, q_idx, kv_idx):
    return (q_idx > 0) & (kv_idx > 2)


Q_AT, K_AT = whet.arange(Q)[:, None], whet.arange(K)
MASKS = {
    "causal": (causal, Q_AT >= K_AT),
    "causal and near": (and_masks(causal, near), (Q_AT >= K_AT) & (Q_AT - K_AT < 10)),
    "documents": (of_one_document, DOCUMENTS[:Q, None] == DOCUMENTS),
    "documents or causal": (or_masks(of_one_document, causal),
                            (DOCUMENTS[:Q, None] == DOCUMENTS) | (Q_AT >= K_AT)),
    "lengths": (within_length, (K_AT < LENGTHS[:, None])[:, None, None].expand(B, 1, Q, K)),
    "a row that sees nothing": (from_the_second, (Q_AT > 0) & (K_AT > 2)),
    "all": (noop_mask, whet.ones(Q, K, dtype=whet.bool))}


def operands(grad=False, dtype=whet.float32, kv_heads=H):
    whet.manual_seed(3)
    return [whet.randn(s, dtype=dtype, requires_grad=grad)
            for s in ((B, H, Q, E), (B, kv_heads, K, E), (B, kv_heads, K, E))]


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("size", [128, 16, (8, 32)])
@pytest.mark.parametrize("separate", [True, False])
def test_masks(name, size, separate):
    mod, dense = MASKS[name]
    mask = create_block_mask(mod, B, None, Q, K, BLOCK_SIZE=size, separate_full_blocks=separate)
    assert whet.equal(create_mask(mod, B, None, Q, K).broadcast_to((B, 1, Q, K)),
                      dense.broadcast_to((B, 1, Q, K)))
    rows, columns = (size, size) if isinstance(size, int) else size
    blocks = [[[int(dense.broadcast_to((B, 1, Q, K))[b, 0, r:r + rows, c:c + columns].any())
                for c in range(0, K, columns)] for r in range(0, Q, rows)] for b in range(B)]
    assert mask.to_dense()[:, 0].tolist() == blocks and mask.shape == (B, 1, Q, K)
    assert (mask.full_kv_num_blocks is not None) == separate
    query, key, value = operands(grad=True)
    got = flex_attention(query, key, value, block_mask=mask)
    want = F.scaled_dot_product_attention(query, key, value, dense)
    whet.testing.assert_close(got, want)
    whet.testing.assert_close(whet.autograd.grad(got.square().sum(), (query, key, value)),
                              whet.autograd.grad(want.square().sum(), (query, key, value)))


def test_scores_are_changed_by_positions_and_by_what_a_function_closes_over():
    query, key, value = operands(grad=True, dtype=whet.float64)
    by_distance = whet.randn(H, Q + K, dtype=whet.float64, requires_grad=True)

    def score_mod(score, b, h, q_idx, kv_idx):
        return 20 * whet.tanh(score / 20) + by_distance[h, q_idx - kv_idx + K]
    got = flex_attention(query, key, value, score_mod, scale=0.5)
    scores = 20 * whet.tanh(query @ key.mT * 0.5 / 20) + by_distance[:, Q_AT - K_AT + K]
    want = scores.softmax(-1) @ value
    whet.testing.assert_close(got, want)
    leaves = query, key, value, by_distance
    whet.testing.assert_close(whet.autograd.grad(got.square().sum(), leaves),
                              whet.autograd.grad(want.square().sum(), leaves))


def test_fewer_heads_of_keys_and_other_types():
    query, key, value = operands(kv_heads=2)
    want = F.scaled_dot_product_attention(query, key, value, enable_gqa=True)
    whet.testing.assert_close(flex_attention(query, key, value, enable_gqa=True), want)
    half = flex_attention(query.half(), key.half(), value.half(), enable_gqa=True)
    assert half.dtype is whet.float16
    whet.testing.assert_close(half.float(), want, rtol=1e-2, atol=1e-2)


def test_what_is_given_beside_the_result():
    query, key, value = operands()
    mask = create_block_mask(from_the_second, None, None, Q, K)
    _, aux = flex_attention(query, key, value, block_mask=mask,
                            return_aux=AuxRequest(lse=True, max_scores=True))
    seen = (query @ key.mT / math.sqrt(E)).masked_fill(~MASKS["a row that sees nothing"][1],
                                                       -math.inf)
    whet.testing.assert_close(aux.lse, seen.logsumexp(-1))
    whet.testing.assert_close(aux.max_scores, seen.amax(-1))
    assert (aux.lse[:, :, 0] == -math.inf).all()
    with pytest.warns(FutureWarning, match="return_aux"):
        _, lse = flex_attention(query, key, value, block_mask=mask, return_lse=True)
    assert whet.equal(lse, aux.lse)


def test_a_row_that_sees_nothing_gives_zeros_and_no_gradient_that_is_no_number():
    query, key, value = operands(grad=True)
    bias = whet.zeros(Q, K, requires_grad=True)

    def hide(score, b, h, q_idx, kv_idx):
        return score + bias[q_idx, kv_idx] + whet.where(q_idx == 1, -math.inf, 0.0)
    y = flex_attention(query, key, value, hide)
    assert not y[:, :, 1].any() and y[:, :, 0].all()
    y.sum().backward()
    assert all(t.grad.isfinite().all() for t in (query, key, value, bias))


@pytest.mark.parametrize("through", [whet.jit.trace, whet.compile])
def test_a_traced_call_has_eagers_bits(through):
    query, key, value = operands(grad=True)
    slopes = whet.tensor([0.5, 0.25, 0.1, 0.0], requires_grad=True)
    mask = create_block_mask(and_masks(causal, near), None, None, Q, K, BLOCK_SIZE=16)

    def step(query, key, value, mask):
        y, aux = flex_attention(query, key, value, lambda s, b, h, q, k: s - slopes[h] * (q - k),
                                mask, return_aux=AuxRequest(lse=True))
        return y, aux.lse, *whet.autograd.grad(y.square().sum() + aux.lse.sum(),
                                               (query, key, value, slopes))
    traced = through(step)
    for _ in range(4):
        for got, want in zip(traced(query, key, value, mask), step(query, key, value, mask)):
            assert whet.equal(got, want)
    assert traced.explain(data=True)["paths"][0]["calls"] >= 2


def test_blocks_given_by_hand_hide_what_is_in_no_block():
    number, columns = whet.tensor([[[1, 2]]]), whet.tensor([[[[1, 0], [0, 1]]]])
    mask = BlockMask.from_kv_blocks(number, columns, BLOCK_SIZE=(20, 28))
    assert mask.shape == (1, 1, 40, 56) and mask.to_dense().tolist() == [[[[0, 1], [1, 1]]]]
    assert mask.q_num_blocks.tolist() == [[[1, 2]]]
    assert mask.sparsity() == 25
    query, key, value = operands()
    dense = whet.ones(Q, K, dtype=whet.bool)
    dense[:20, :28] = False
    whet.testing.assert_close(flex_attention(query, key, value, block_mask=mask),
                              F.scaled_dot_product_attention(query, key, value, dense))


def test_a_slice_wants_a_function_of_its_own_positions():
    mask = create_block_mask(causal, B, None, Q, K, BLOCK_SIZE=8)
    last = mask[:, :, whet.tensor([4])]
    query, key, value = operands()
    last.seq_lengths = 8, K
    with pytest.raises(RuntimeError, match="sliced BlockMask"):
        flex_attention(query[:, :, 32:], key, value, block_mask=last)
    last.mask_mod = lambda b, h, q_idx, kv_idx: mask.mask_mod(b, h, q_idx + 32, kv_idx)
    whet.testing.assert_close(
        flex_attention(query[:, :, 32:], key, value, block_mask=last),
        flex_attention(query, key, value, block_mask=mask)[:, :, 32:])
    assert mask[0, -1].kv_num_blocks.shape == (1, 1, 5)


def test_the_corner_of_a_mask_fits_shorter_sequences():
    query, key, value = (t[:, :, :20] for t in operands())
    mask = create_block_mask(causal, None, None, Q, K, BLOCK_SIZE=16)
    with pytest.raises(ValueError, match="_adjust"):
        flex_attention(query, key, value, block_mask=mask)
    whet.testing.assert_close(
        flex_attention(query, key, value, block_mask=mask._adjust(20, 20)),
        F.scaled_dot_product_attention(query, key, value, is_causal=True))


def test_a_mask_as_text():
    mask = create_block_mask(causal, None, None, 48, 48, BLOCK_SIZE=16)
    assert str(mask) == ("BlockMask(shape=(1, 1, 48, 48), sparsity=33.33%, \n(0, 0)\n"
                         "██    \n████  \n██████\n)")
    assert "kv_indices=whet.Size([1, 1, 3, 3]),\n" in repr(mask) and "mask_mod=causal" in repr(mask)
    assert "limit=N" in create_block_mask(causal, 5, None, 16, 16).to_string()


def test_what_does_not_fit():
    query, key, value = operands()
    for call, error, text in (
            (lambda: flex_attention(query[0], key, value), NotImplementedError, "4D"),
            (lambda: flex_attention(query, key[..., :3], value), ValueError, "embedding"),
            (lambda: flex_attention(query, key[:, :2], value[:, :2]), ValueError, "enable_gqa"),
            (lambda: flex_attention(query, key[:1], value[:1]), ValueError, "batch size"),
            (lambda: flex_attention(query, key.double(), value), ValueError, "same dtype"),
            (lambda: create_block_mask(lambda s, b, h, q, k: s, 1, 1, 4, 4), AssertionError,
             "mask_mod"),
            (lambda: create_mask(lambda x: x, 1, 1, 4, 4), AssertionError, "4 or 5"),
            (lambda: or_masks(causal, True), RuntimeError, "callable"),
            (lambda: BlockMask.from_kv_blocks(whet.ones(1), whet.ones(1)), RuntimeError,
             "2 dimensions")):
        with pytest.raises(error, match=text):
            call()


def test_layers_are_found_where_older_files_have_them():
    from whet.nn import attention
    assert attention.TransformerEncoderLayer is whet.nn.TransformerEncoderLayer
    assert pickle.loads(pickle.dumps(whet.nn.Transformer)) is attention.Transformer
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert whet.nn.modules.transformer.Transformer is whet.nn.Transformer
