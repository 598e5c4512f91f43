"""Masks of attention, given as functions of positions and kept as lists of blocks."""
import inspect
import itertools
import math

import whet

from ...func import vmap
from ..functional import pad

__all__ = [
    "BlockMask", "and_masks", "create_block_mask", "create_mask", "noop_mask", "or_masks"]

BLOCK = 128             # PyTorch's, so that masks have its shapes
LISTS = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks",
         "q_indices", "full_q_num_blocks", "full_q_indices")


def noop_mask(batch, head, token_q, token_kv):
    """Everything is seen."""
    return batch.new_ones((), dtype=whet.bool)


def _sliced_mask_mod_error(batch, head, token_q, token_kv):
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask: its positions are those of the whole mask. "
        "Set the slice's mask_mod, made of that of the whole mask.")


def over_positions(fn, scores=0):
    """A function of (batch, head, q_idx, kv_idx), and before those of `scores` scores, as one over
    all positions at once: its result has four dimensions."""
    for place in (3, 2, 1, 0):
        at = tuple(0 if i == place else None for i in range(4))
        fn = vmap(fn, in_dims=(0,) * scores + at)
    return fn


def positions(sizes, device):
    """The numbers that a function of positions is called with."""
    return [whet.arange(n, device=device) for n in sizes]


def _takes_scores(fn):
    """Does a function take a score before the positions?"""
    n = sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
            for p in inspect.signature(fn).parameters.values())
    if n not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {n}")
    return n == 5


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """What a function of positions says of all of them: booleans of shape (B, H, Q_LEN, KV_LEN). A
    function that changes scores hides those that it makes minus infinity.

    >>> import whet
    >>> from whet.nn.attention.flex_attention import create_mask
    >>> create_mask(lambda b, h, q_idx, kv_idx: q_idx >= kv_idx, None, None, 2, 3)
    tensor([[[[ True, False, False],
              [ True,  True, False]]]])
    """
    sizes = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    at = positions(sizes, device)
    if _takes_scores(mod_fn):
        scores = over_positions(mod_fn, 1)(whet.zeros(sizes, device=device), *at)
        return ~whet.isneginf(scores)
    return over_positions(mod_fn)(*at)


class _Combined:
    """Functions of positions as one. An object, so that a tracer sees what it calls."""

    def __init__(self, name, combine, mask_mods, *, start):
        if not all(map(callable, mask_mods)):
            raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")
        self.__name__, self.combine, self.start, self.mask_mods = name, combine, start, mask_mods

    def __call__(self, b, h, q_idx, kv_idx):
        result = b.new_full((), self.start, dtype=whet.bool)
        for mod in self.mask_mods:
            result = self.combine(result, mod(b, h, q_idx, kv_idx))
        return result


def or_masks(*mask_mods):
    """The function of positions that sees what any of these sees."""
    return _Combined("or_mask", whet.logical_or, mask_mods, start=False)


def and_masks(*mask_mods):
    """The function of positions that sees what all of these see."""
    return _Combined("and_mask", whet.logical_and, mask_mods, start=True)


# ---- blocks --------------------------------------------------------------------------------------
def _listed(dense):
    """For each row of blocks, how many there are, and their columns: those that are none at the
    end."""
    number = dense.sum(-1).to(whet.int32)
    return number, dense.argsort(-1, descending=True, stable=True).to(whet.int32)


def _dense(number, columns):
    """The rows and columns of blocks again, of ones and zeros."""
    n = columns.shape[-1]
    there = whet.arange(n, device=columns.device) < number.unsqueeze(-1)
    at = whet.where(there, columns, n).to(whet.int64)
    empty = whet.zeros((*columns.shape[:-1], n + 1), dtype=whet.int32, device=columns.device)
    return empty.scatter(-1, at, 1)[..., :n]


def _transposed(number, columns):
    return _listed(_dense(number, columns).mT)


def _elements(blocks, size, lengths):
    """Blocks as booleans for each of their elements."""
    rows = blocks.bool().repeat_interleave(size[0], -2)[..., :lengths[0], :]
    return rows.repeat_interleave(size[1], -1)[..., :lengths[1]]


class BlockMask:
    """Which blocks of queries and keys an attention computes. In a row of blocks those of
    `kv_indices` are asked of `mask_mod` element by element; those of `full_kv_indices` are seen
    whole. `q_...` are the same by columns.

    >>> from whet.nn.attention.flex_attention import create_block_mask
    >>> mask = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 256, 384)
    >>> mask.shape, mask.kv_num_blocks.tolist(), mask.full_kv_num_blocks.tolist()
    ((1, 1, 256, 384), [[[1, 1]]], [[[0, 1]]])
    """

    def __init__(self, seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices,
                 q_num_blocks, q_indices, full_q_num_blocks, full_q_indices,
                 BLOCK_SIZE=(BLOCK, BLOCK), mask_mod=noop_mask):
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        for kind, number, indices in (("kv", full_kv_num_blocks, full_kv_indices),
                                      ("q", full_q_num_blocks, full_q_indices)):
            if (number is None) != (indices is None):
                raise AssertionError(f"full_{kind}_num_blocks and full_{kind}_indices must be both "
                                     "provided or omitted")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.BLOCK_SIZE, self.mask_mod = BLOCK_SIZE, mask_mod

    @classmethod
    def from_kv_blocks(cls, kv_num_blocks, kv_indices, full_kv_num_blocks=None,
                       full_kv_indices=None, BLOCK_SIZE=BLOCK, mask_mod=None, seq_lengths=None,
                       compute_q_blocks=True):
        """A mask of the numbers and columns of the blocks in each row."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        lists = dict(zip(LISTS, (kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices,
                                 None, None, None, None)))
        if compute_q_blocks:
            lists["q_num_blocks"], lists["q_indices"] = _transposed(kv_num_blocks, kv_indices)
            if full_kv_num_blocks is not None and full_kv_indices is not None:
                lists["full_q_num_blocks"], lists["full_q_indices"] = _transposed(
                    full_kv_num_blocks, full_kv_indices)
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        if seq_lengths is None:
            seq_lengths = kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1]
        return cls(seq_lengths, **lists, BLOCK_SIZE=size,
                   mask_mod=noop_mask if mask_mod is None else mask_mod)

    def _like(self, lists, mask_mod, seq_lengths):
        """Other blocks in a mask like this one."""
        return self.from_kv_blocks(**dict(zip(LISTS, lists)), BLOCK_SIZE=self.BLOCK_SIZE,
                                   mask_mod=mask_mod, seq_lengths=seq_lengths,
                                   compute_q_blocks=self.q_indices is not None)

    @property
    def shape(self):
        """(batch, heads, queries, keys)"""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self):
        """The number of elements, hidden ones too."""
        return math.prod(self.shape)

    def sparsity(self):
        """How many of 100 elements are in blocks that are not computed."""
        blocks = self.kv_num_blocks.sum().item()
        if self.full_kv_num_blocks is not None:
            blocks += self.full_kv_num_blocks.sum().item()
        return 100 * (1 - blocks * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self):
        """1 for each block that is computed, 0 for the others."""
        found = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None:
            found = found | _dense(self.full_kv_num_blocks, self.full_kv_indices)
        return found

    def visible(self, sizes):
        """Which elements are seen by an attention of (batch, heads, queries, keys), as booleans
        that broadcast to that shape."""
        at = positions(sizes, self.kv_indices.device)
        partial = _elements(_dense(self.kv_num_blocks, self.kv_indices), self.BLOCK_SIZE, sizes[2:])
        seen = over_positions(self.mask_mod)(*at) & partial
        if self.full_kv_num_blocks is not None:
            seen = seen | _elements(_dense(self.full_kv_num_blocks, self.full_kv_indices),
                                    self.BLOCK_SIZE, sizes[2:])
        return seen

    def __getitem__(self, index):
        """The mask of some batches, heads and rows of blocks. Its `mask_mod` must be set again."""
        index = index if isinstance(index, tuple) else (index,)
        index = tuple(slice(i, None if i == -1 else i + 1) if isinstance(i, int) else i
                      for i in (*index, slice(None), slice(None), slice(None))[:3])
        return self._like([t if t is None else t[index] for t in self._lists().values()][:4],
                          _sliced_mask_mod_error, self.seq_lengths)

    def _adjust(self, new_q_len, new_kv_len):
        """The upper left corner of the mask, for other lengths."""
        rows, columns = (-(-n // size) for n, size in zip((new_q_len, new_kv_len), self.BLOCK_SIZE))

        def corner(number, indices):
            return ((None, None) if number is None else
                    _listed(_dense(number, indices)[..., :rows, :columns]))
        lists = [*corner(self.kv_num_blocks, self.kv_indices),
                 *corner(self.full_kv_num_blocks, self.full_kv_indices)]
        return self._like(lists, self.mask_mod, (new_q_len, new_kv_len))

    def _lists(self):
        return {name: getattr(self, name) for name in LISTS}

    def to(self, device):
        """The mask on another device."""
        lists = {name: t if t is None else t.to(device) for name, t in self._lists().items()}
        return type(self)(self.seq_lengths, **lists, BLOCK_SIZE=self.BLOCK_SIZE,
                          mask_mod=self.mask_mod)

    def to_string(self, grid_size=(20, 20), limit=4):
        """A picture of the blocks of each batch and head: full where all are computed."""
        dense = self.to_dense()
        *batches, rows, columns = dense.shape
        most = ((rows, columns) if grid_size == -1 else
                (grid_size, grid_size) if isinstance(grid_size, int) else grid_size)
        steps = max(1, -(-rows // most[0])), max(1, -(-columns // most[1]))
        pictures: list[str] = []
        for at in itertools.product(*map(range, batches)):
            if len(pictures) == limit:
                pictures += ["...", "To print out more, set BlockMask.to_string(limit=N)",
                             "You can also index (BlockMask[batch, head]) to choose a specific "
                             "batch or head"]
                break
            shares = [[float(dense[at][r:r + steps[0], c:c + steps[1]].float().mean())
                       for c in range(0, columns, steps[1])] for r in range(0, rows, steps[0])]
            pictures.append(f"{at}\n" + "".join(
                "".join(("█" if s == 1 else " " if s == 0 else "░") * 2 for s in row) + "\n"
                for row in shares))
        return "\n".join(pictures)

    def __str__(self):
        return (f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n"
                f"{self.to_string().strip()}\n)")

    def __repr__(self):
        shapes = "".join(f"    {name}={None if t is None else t.shape},\n"
                         for name, t in self._lists().items())
        mod = getattr(self.mask_mod, "__name__", self.mask_mod)
        return (f"BlockMask(\n{shapes}    BLOCK_SIZE={self.BLOCK_SIZE},\n    shape={self.shape},\n"
                f"    sparsity={self.sparsity():.2f}%,\n    mask_mod={mod}\n)")


def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device=None, BLOCK_SIZE=BLOCK, _compile=False,
                      separate_full_blocks=True):
    """The BlockMask of a function of positions; B or H is None where it is the same for all of
    them. Blocks that are seen whole are listed by themselves. `_compile` changes nothing here."""
    if _takes_scores(mask_mod):
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    mask = pad(mask, (0, -KV_LEN % size[1], 0, -Q_LEN % size[0]))
    *batches, rows, columns = mask.shape
    counts = mask.reshape(*batches, rows // size[0], size[0], columns // size[1],
                          size[1]).sum((-3, -1))
    whole = counts == size[0] * size[1]
    lists = ([*_listed((counts > 0) & ~whole), *_listed(whole)] if separate_full_blocks
             else _listed(counts > 0))
    return BlockMask.from_kv_blocks(**dict(zip(LISTS, lists)), BLOCK_SIZE=size, mask_mod=mask_mod,
                                    seq_lengths=(Q_LEN, KV_LEN))
