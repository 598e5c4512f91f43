"""Archives: an exported function as a file, `model.whet`.

A zip file, its members stored as they are, so that any tool opens it and weights are mapped where
they lie:

    whet.json             format, versions, the function's name, rewrites, what kernels ask,
                          sizes that differ
    graph.txt             the graph as text: see ir/text.py
    body.0.txt, ...       bodies of control flow, by number: see control_graphs.py
    weights.safetensors   constants by name, and large arrays of the text as "@0", "@1", ...
    signature.json        arguments and results: names, nesting, types
    samples.safetensors   one call: "input.x", "result.output"
    extra/...             files of the user's

Reading runs nothing that is in the file and believes nothing: damage is an ArchiveError, which
names the member."""

FIRST = 1  # what needs no more than that is written so, for whets of any age
SIZED = 2  # since then there may be sizes that differ, and control flow
COUNTED = 3  # since then counts among floats may depend on sizes: how many numbers a mean is of
FORMULAS = 4  # since then sizes may be parts of others, and bounds may have steps
FORMAT = 5  # since then numbers that depend on sizes may be fractions and roots
BODY = "body.{}.txt"
EXTRA = "extra/"
MANIFEST, GRAPH, WEIGHTS = "whet.json", "graph.txt", "weights.safetensors"
SIGNATURE, SAMPLES = "signature.json", "samples.safetensors"
