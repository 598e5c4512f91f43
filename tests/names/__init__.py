"""The public names of PyTorch beside those of whet: `docs/names.md`.

    python -m tests.names              writes the page
    python -m tests.names --only nn    prints what differs, or is not here, in a namespace

The interpreter that runs this needs torch beside whet. `spaces` says which names are public,
`signatures` compares what they take, `reasons` has the words for what differs or is not here, and
`page` writes and reads the document. `test_names.py` checks the page without torch.
"""
