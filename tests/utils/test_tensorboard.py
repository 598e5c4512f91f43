"""Event files, read back by a reader that knows nothing of how they were written."""
import os
import pathlib
import struct
import subprocess
import sys
import threading
import zlib

import numpy as np
import pytest
import whet
from whet import nn
from whet.utils.tensorboard import FileWriter, SummaryWriter
from whet.utils.tensorboard.wire import crc32c, varint


def slow_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def unmasked(word):
    rotated = word - 0xA282EAD8 & 0xFFFFFFFF
    return (rotated >> 17 | rotated << 15) & 0xFFFFFFFF


def records(path):
    data, at = path.read_bytes(), 0
    while at < len(data):
        length, = struct.unpack_from("<Q", data, at)
        of_length, = struct.unpack_from("<I", data, at + 8)
        assert unmasked(of_length) == slow_crc(data[at:at + 8])
        message = data[at + 12:at + 12 + length]
        of_message, = struct.unpack_from("<I", data, at + 12 + length)
        assert unmasked(of_message) == slow_crc(message)
        yield message
        at += length + 16


def number(data, at):
    out = shift = 0
    while True:
        out |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if not data[at - 1] & 0x80:
            return out, at


def fields(message):
    """A message as {field: [what it holds, as bytes or a whole number]}."""
    out, at = {}, 0
    while at < len(message):
        key, at = number(message, at)
        if key & 7 == 0:
            held, at = number(message, at)
        else:
            size, at = {1: (8, at), 5: (4, at)}[key & 7] if key & 7 != 2 else number(message, at)
            held, at = message[at:at + size], at + size
        out.setdefault(key >> 3, []).append(held)
    return out


def events(folder):
    path, = pathlib.Path(folder).glob("events.out.tfevents.*")
    return [fields(m) for m in records(path)]


def values(folder):
    """The (step, value) of each summary, in order."""
    return [(e.get(2, [0])[0], fields(fields(e[5][0])[1][0])) for e in events(folder) if 5 in e]


@pytest.mark.parametrize("length", [0, 1, 63, 64 * 65, 64 * 65 + 1, 10_007])
def test_checksums_of_any_length_are_castagnolis(length):
    data = np.random.default_rng(length).integers(0, 256, length, dtype=np.uint8).tobytes()
    assert crc32c(data) == slow_crc(data)


@pytest.mark.parametrize("n", [0, 1, 127, 128, 1 << 40, -1])
def test_whole_numbers_are_read_back(n):
    assert number(varint(n), 0) == (n & (1 << 64) - 1, len(varint(n)))


def test_a_file_begins_with_its_version_and_holds_scalars_with_steps_and_times(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for step in range(30):
            writer.add_scalar("loss", whet.tensor(0.5 * step, requires_grad=True), step, 100 + step)
    first, *rest = events(tmp_path)
    assert first[3] == [b"brain.Event:2"]
    assert [struct.unpack("<d", e[1][0])[0] for e in rest] == [100 + s for s in range(30)]
    for step, (at, value) in enumerate(values(tmp_path)):
        assert at == step and value[1] == [b"loss"]
        assert struct.unpack("<f", value[2][0]) == (0.5 * step,)


def test_a_scalar_is_one_number(tmp_path):
    with SummaryWriter(tmp_path) as writer, pytest.raises(AssertionError, match="one number"):
        writer.add_scalar("loss", whet.zeros(2), 0)


def test_the_buckets_of_a_histogram_hold_all_numbers(tmp_path):
    drawn = np.random.default_rng(0).standard_normal(1000)
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("weights", whet.tensor(drawn), 3)
    (step, value), = values(tmp_path)
    held = fields(value[5][0])
    limits, counts = (np.frombuffer(held[f][0], "<f8") for f in (6, 7))
    assert step == 3 and counts.sum() == 1000 and len(limits) == len(counts)
    assert counts[0] == 0 and counts[1] and counts[-1]
    for limit, below in zip(limits, np.cumsum(counts), strict=True):
        assert below == (drawn < limit).sum()


def pixels(encoded):
    """The bytes of a PNG without filters."""
    at, parts = 8, {}
    while at < len(encoded):
        size, kind = struct.unpack_from(">I4s", encoded, at)
        content = encoded[at + 8:at + 8 + size]
        crc, = struct.unpack_from(">I", encoded, at + 8 + size)
        assert crc == zlib.crc32(kind + content)
        parts.setdefault(kind, []).append(content)
        at += size + 12
    width, height, depth, colours = struct.unpack_from(">IIBB", parts[b"IHDR"][0])
    assert depth == 8
    channels = {0: 1, 2: 3, 6: 4}[colours]
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"][0]), np.uint8).reshape(height, -1)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, channels), parts


@pytest.mark.parametrize("formats", ["CHW", "HWC", "HW"])
def test_images_come_in_any_order_of_dimensions(tmp_path, formats):
    sizes = {"C": 3, "H": 4, "W": 5}
    drawn = np.random.default_rng(0).integers(0, 256, [sizes[f] for f in formats], dtype=np.uint8)
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("picture", whet.from_numpy(drawn), 0, dataformats=formats)
    (_, value), = values(tmp_path)
    seen, _ = pixels(fields(value[4][0])[4][0])
    want = drawn[..., None].repeat(3, -1) if formats == "HW" else (
        drawn.transpose([formats.index(d) for d in "HWC"]))
    assert (seen == want).all()


def test_floats_between_0_and_1_are_stretched_and_batches_are_grids(tmp_path):
    batch = np.linspace(0, 1, 10).reshape(10, 1, 1, 1) * np.ones((10, 1, 2, 3))
    with SummaryWriter(tmp_path) as writer:
        writer.add_images("batch", batch, 0)
    (_, value), = values(tmp_path)
    seen, _ = pixels(fields(value[4][0])[4][0])
    assert seen.shape == (4, 24, 3)
    assert [seen[i // 8 * 2, i % 8 * 3, 0] for i in range(10)] == [i * 255 // 9 for i in range(10)]
    assert not seen[2:, 6:].any()


def test_a_video_is_an_animated_image(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_video("clip", whet.rand(2, 5, 3, 4, 6), 0, fps=5)
    (_, value), = values(tmp_path)
    first, parts = pixels(fields(value[4][0])[4][0])
    assert first.shape == (4, 12, 3)
    assert struct.unpack_from(">I", parts[b"acTL"][0]) == (5,)
    numbers = sorted(struct.unpack_from(">I", c)[0] for c in parts[b"fcTL"] + parts[b"fdAT"])
    assert numbers == list(range(9))


def test_hyper_parameters_have_a_folder_of_their_own(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.1, "name": "adam", "on": True, "none": None}, {"loss": 2.0},
                           run_name="first")
        with pytest.raises(ValueError, match="hparam 'bad'"):
            writer.add_hparams({"bad": [1]}, {})
    *session, (_, metric) = values(tmp_path / "first")
    plugins = [fields(fields(v[9][0])[1][0]) for _, v in session]
    assert [p[1] for p in plugins] == [[b"hparams"]] * 3
    start = fields(fields(plugins[1][2][0])[3][0])[1]
    assert [fields(entry)[1] for entry in start] == [[b"lr"], [b"name"], [b"on"]]
    assert metric[1] == [b"loss"]


def test_scalars_of_one_chart_have_a_folder_each(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalars("loss/both", {"train": 1.0, "test": 2.0}, 7)
    for tag, number in (("train", 1.0), ("test", 2.0)):
        (step, value), = values(tmp_path / f"loss_both_{tag}")
        assert (step, struct.unpack("<f", value[2][0])) == (7, (number,))


def test_a_graph_names_parameters_and_ops_and_leaves_the_mode_of_training(tmp_path):
    model = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5), nn.ReLU())
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, whet.zeros(2, 4))
    assert all(m.training for m in model.modules())
    definition, = (e[4][0] for e in events(tmp_path) if 4 in e)
    nodes = [fields(n) for n in fields(definition)[1]]
    reads = {n[1][0]: (n[2][0], n.get(3, [])) for n in nodes}
    assert reads[b"linear_0"] == (b"whet::linear", [b"input", b"0/weight", b"0/bias"])
    assert reads[b"relu_1"] == (b"whet::relu", [b"linear_0"])
    assert reads[b"result/output"] == (b"Output", [b"relu_1"])


def test_precision_and_recall_at_each_threshold(tmp_path):
    labels, guesses = [0, 1, 1, 0], [0.1, 0.9, 0.4, 0.6]
    with SummaryWriter(tmp_path) as writer:
        writer.add_pr_curve("pr", whet.tensor(labels), whet.tensor(guesses), 0, num_thresholds=11)
    (_, value), = values(tmp_path)
    table = np.frombuffer(fields(value[8][0])[5][0], "<f4").reshape(6, 11)
    for k in range(11):
        chosen = [int(g * 10) >= k for g in np.float32(guesses).tolist()]
        true = sum(1 for c, y in zip(chosen, labels, strict=True) if c and y)
        assert table[0, k] == true and table[1, k] == sum(chosen) - true
        assert table[5, k] == true / 2


def test_what_is_held_is_written_when_the_process_ends(tmp_path):
    text = (f"from whet.utils.tensorboard import SummaryWriter\n"
            f"w = SummaryWriter({str(tmp_path)!r})\nw.add_scalar('x', 1.0, 5)\n")
    subprocess.run([sys.executable, "-c", text], check=True)
    assert [step for step, _ in values(tmp_path)] == [5]


def test_threads_share_a_writer(tmp_path):
    writer = FileWriter(tmp_path, max_queue=3)

    def write(start):
        for step in range(start, start + 50):
            writer.add_event(b"", step)
    threads = [threading.Thread(target=write, args=(50 * i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    writer.close()
    assert sorted(e.get(2, [0])[0] for e in events(tmp_path)[1:]) == list(range(200))


def test_a_run_goes_on_where_it_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    SummaryWriter(comment="again", purge_step=9).close()
    folder, = os.listdir("runs")
    assert folder.endswith("again")
    assert [(e[2], e[7]) for e in events(pathlib.Path("runs") / folder) if 7 in e] == [
        ([9], [b"\x08\x01"])]
