"""Images: sampled on grids, decoded from files."""
import io
from typing import Any

import numpy as np
import whet
import whet.nn.functional as F

from ....tensor import Tensor
from ...errors import OnnxError
from ..definition import operator
from ..values import Array, Ints


@operator("GridSample", since=16)
def grid_sample(x: Tensor, grid: Tensor, *, align_corners: int = 0, mode: str = "linear",
                padding_mode: str = "zeros") -> Tensor:
    name = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    return F.grid_sample(x, grid, name, padding_mode, bool(align_corners))


@operator("AffineGrid")
def affine_grid(theta: Tensor, size: Ints, *, align_corners: int = 0) -> Tensor:
    return F.affine_grid(theta, size, bool(align_corners))


@operator("ImageDecoder")
def image_decoder(encoded: Array, *, pixel_format: str = "RGB") -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise OnnxError("images are decoded by the package pillow: pip install pillow") from error
    kinds = {"RGB": "RGB", "BGR": "RGB", "Grayscale": "L"}
    if pixel_format not in kinds:
        raise OnnxError(f"there is no pixel_format {pixel_format!r}")
    with Image.open(io.BytesIO(encoded.tobytes())) as image:
        pixels = np.array(image.convert(kinds[pixel_format]))
    if pixel_format == "Grayscale":
        pixels = pixels[:, :, None]
    return whet.from_numpy(pixels[:, :, ::-1].copy() if pixel_format == "BGR" else pixels)
