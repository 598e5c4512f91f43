"""Images, sounds and figures as bytes that a browser shows."""
import io
import struct
import wave
import zlib

import numpy as np

_COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}


def _chunk(kind, content):
    return (struct.pack(">I", len(content)) + kind + content
            + struct.pack(">I", zlib.crc32(kind + content)))


def _rows(image):
    """Rows of pixels as PNG has them: each begins with the number of its filter, here none."""
    height = len(image)
    rows = np.zeros((height, 1 + image[0].size), np.uint8)
    rows[:, 1:] = image.reshape(height, -1)
    return zlib.compress(rows.tobytes())


def png(image, *more, frames_per_second=4):
    """The PNG file of an array of bytes (height, width, channels), animated with more of them."""
    height, width, channels = image.shape
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    parts = [b"\x89PNG\r\n\x1a\n", _chunk(b"IHDR", header)]
    if more:
        parts.append(_chunk(b"acTL", struct.pack(">II", 1 + len(more), 0)))
    number = 0
    for at, frame in enumerate((image, *more)):
        if more:
            shown = struct.pack(">IIIIIHHBB", number, width, height, 0, 0,
                                100, int(100 * frames_per_second), 0, 0)
            parts.append(_chunk(b"fcTL", shown))
            number += 1
        if at == 0:
            parts.append(_chunk(b"IDAT", _rows(frame)))
        else:
            parts.append(_chunk(b"fdAT", struct.pack(">I", number) + _rows(frame)))
            number += 1
    return b"".join([*parts, _chunk(b"IEND", b"")])


def wav(samples, sample_rate):
    """The WAV file of samples between -1 and 1, in 16 bits."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes((samples * np.iinfo(np.int16).max).astype("<i2").tobytes())
    return out.getvalue()


def grid(images, per_row=8):
    """Images (number, height, width, channels) side by side in one."""
    number, height, width, channels = images.shape
    across = min(number, per_row)
    down = -(-number // across)
    cells = np.zeros((down * across, height, width, channels), images.dtype)
    cells[:number] = images
    cells = cells.reshape(down, across, height, width, channels)
    return cells.swapaxes(1, 2).reshape(down * height, across * width, channels)


def channels_last(array, formats):
    """An image of any order of dimensions ("CHW", "HW", "NCHW", ...) as height, width and three
    channels; a batch becomes a grid."""
    formats = formats.upper()
    if len(formats) != array.ndim or len(set(formats)) != len(formats):
        raise AssertionError(
            f"size of input tensor and input format are different: tensor shape {array.shape}, "
            f"input_format: {formats}")
    if "C" not in formats:
        array, formats = array[..., None], formats + "C"
    order = "NHWC" if "N" in formats else "HWC"
    array = array.transpose([formats.index(d) for d in order])
    if order == "NHWC":
        array = grid(array)
    return np.repeat(array, 3, axis=-1) if array.shape[-1] == 1 else array


def as_bytes(array):
    """Pixels as bytes: floats between 0 and 1 are stretched."""
    return array if array.dtype == np.uint8 else (array * 255.0).clip(0, 255).astype(np.uint8)


def figure(figures, close=True):
    """Matplotlib figures, drawn: an array (number, height, width, channels)."""
    from matplotlib import pyplot
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    out = []
    for fig in figures:
        canvas = FigureCanvasAgg(fig)
        canvas.draw()
        out.append(np.asarray(canvas.buffer_rgba())[..., :3])
        if close:
            pyplot.close(fig)
    return np.stack(out)


def with_boxes(image, boxes, labels=None):
    """An image (height, width, 3) with rectangles (left, top, right, bottom), and labels if Pillow
    is there to write them."""
    image = image.copy()
    height, width = image.shape[:2]
    for left, top, right, bottom in np.asarray(boxes).astype(int).tolist():
        x0, x1 = np.clip([left, right], 0, width - 1)
        y0, y1 = np.clip([top, bottom], 0, height - 1)
        image[[y0, y1], x0:x1 + 1] = image[y0:y1 + 1, [x0, x1]] = (255, 0, 0)
    if labels is None:
        return image
    from PIL import Image, ImageDraw
    picture = Image.fromarray(image)
    for (left, top, *_), label in zip(np.asarray(boxes).tolist(), labels, strict=False):
        ImageDraw.Draw(picture).text((left + 2, top + 2), label, fill=(255, 255, 255))
    return np.asarray(picture)
