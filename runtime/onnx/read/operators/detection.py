"""Sampling at places between pixels, regions of interest, non-maximum suppression."""
from typing import Any

import numpy as np
import whet

from ....tensor import Tensor
from ..definition import operator
from ..values import Array, Number, from_array


def sampled(x: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """x[n, c] at places (n, p) between pixels: bilinear, zero outside."""
    n, c, h, w = x.shape
    flat = x.reshape(n, c, h * w)
    top, left = whet.floor(rows), whet.floor(columns)
    found = whet.zeros(1, dtype=x.dtype)
    for dy in (0, 1):
        for dx in (0, 1):
            y, z = top + dy, left + dx
            weight = (1 - whet.abs(rows - y)) * (1 - whet.abs(columns - z))
            inside = (y >= 0) & (y < h) & (z >= 0) & (z < w)
            at = whet.clamp(y, 0, h - 1) * w + whet.clamp(z, 0, w - 1)
            index = at.to(whet.int64).unsqueeze(1).expand(n, c, at.shape[1])
            part = whet.gather(flat, 2, index)
            found = found + part * whet.where(inside, weight, whet.zeros_like(weight)).unsqueeze(1)
    return found


def averaged(x: Tensor, rows: Tensor, columns: Tensor, highest: bool, shape: list[int],
             counts: Tensor) -> Tensor:
    """Values at a region's places, pooled over each cell's samples."""
    n, c, h, w = x.shape
    flat = x.reshape(n, c, h * w)
    inside = (rows >= -1) & (rows <= h) & (columns >= -1) & (columns <= w)
    y, z = whet.clamp(rows, 0, h - 1), whet.clamp(columns, 0, w - 1)
    top, left = whet.floor(y), whet.floor(z)
    parts = []
    for dy in (0, 1):
        for dx in (0, 1):
            weight = (dy * (y - top) + (1 - dy) * (1 - (y - top))) * \
                (dx * (z - left) + (1 - dx) * (1 - (z - left)))
            at = whet.clamp(top + dy, 0, h - 1) * w + whet.clamp(left + dx, 0, w - 1)
            index = at.to(whet.int64).unsqueeze(1).expand(n, c, at.shape[1])
            parts.append(whet.gather(flat, 2, index) * (weight * inside).unsqueeze(1))
    if highest:
        best = whet.maximum(whet.maximum(parts[0], parts[1]), whet.maximum(parts[2], parts[3]))
        return whet.amax(best.reshape(shape), [3, 5])
    total = parts[0] + parts[1] + parts[2] + parts[3]
    return whet.sum(total.reshape(shape), [3, 5]) / counts


def roi_align(x: Tensor, rois: Tensor, batch_indices: Tensor, shift: float, mode: str,
              height: int, width: int, ratio: int, scale: float) -> Tensor:
    """Regions of images, each pooled to the same size."""
    found = []
    for box, i in zip(rois.tolist(), batch_indices.tolist()):
        x1, y1, x2, y2 = (v * scale - shift for v in box)
        high, wide = y2 - y1, x2 - x1
        if not shift:
            high, wide = max(high, 1.0), max(wide, 1.0)
        step_y, step_x = high / height, wide / width
        ny = ratio if ratio > 0 else int(np.ceil(step_y))
        nx = ratio if ratio > 0 else int(np.ceil(step_x))
        rows = y1 + step_y * (np.arange(height)[:, None] + (np.arange(ny) + 0.5) / ny)
        columns = x1 + step_x * (np.arange(width)[:, None] + (np.arange(nx) + 0.5) / nx)
        grid = np.broadcast_arrays(rows[:, :, None, None], columns[None, None])
        y, z = (whet.tensor(np.ascontiguousarray(g).reshape(1, -1)).to(x.dtype) for g in grid)
        shape = [1, x.shape[1], height, ny, width, nx]
        found.append(averaged(x[i:i + 1], y, z, mode == "max", shape,
                              whet.tensor(float(ny * nx), dtype=x.dtype)))
    if not found:
        return whet.zeros(0, x.shape[1], height, width, dtype=x.dtype)
    return whet.cat(found)


@operator("RoiAlign", since=16)
def roi_align_16(x: Tensor, rois: Tensor, batch_indices: Tensor, *,
                 coordinate_transformation_mode: str = "half_pixel", mode: str = "avg",
                 output_height: int = 1, output_width: int = 1, sampling_ratio: int = 0,
                 spatial_scale: float = 1.0) -> Tensor:
    shift = 0.5 if coordinate_transformation_mode == "half_pixel" else 0.0
    return roi_align(x, rois, batch_indices, shift, mode, output_height, output_width,
                     sampling_ratio, spatial_scale)


@operator("RoiAlign")
def roi_align_10(x: Tensor, rois: Tensor, batch_indices: Tensor, *, mode: str = "avg",
                 output_height: int = 1, output_width: int = 1, sampling_ratio: int = 0,
                 spatial_scale: float = 1.0) -> Tensor:
    return roi_align(x, rois, batch_indices, 0.0, mode, output_height, output_width,
                     sampling_ratio, spatial_scale)


@operator("MaxRoiPool")
def max_roi_pool(x: Tensor, rois: Tensor, *, pooled_shape: list[int],
                 spatial_scale: float = 1.0) -> Tensor:
    high, wide = pooled_shape
    found = []
    for i, *box in rois.tolist():
        x1, y1, x2, y2 = (round(v * spatial_scale) for v in box)
        rows = _bins(y1, max(y2 - y1 + 1, 1), high, x.shape[2])
        columns = _bins(x1, max(x2 - x1 + 1, 1), wide, x.shape[3])
        cells = [whet.amax(x[int(i), :, a:b, c:d], [1, 2]) if a < b and c < d
                 else whet.zeros(x.shape[1], dtype=x.dtype) for a, b in rows for c, d in columns]
        found.append(whet.stack(cells, 1).reshape(x.shape[1], high, wide))
    return whet.stack(found) if found else whet.zeros(0, x.shape[1], high, wide, dtype=x.dtype)


def _bins(start: int, length: int, count: int, limit: int) -> list[tuple[int, int]]:
    return [(min(max(start + i * length // count, 0), limit),
             min(max(start - (-(i + 1) * length // count), 0), limit)) for i in range(count)]


@operator("NonMaxSuppression")
def non_max_suppression(boxes: Array, scores: Array, most: Number | None = None,
                        iou_threshold: Number | None = None,
                        score_threshold: Number | None = None, *, center_point_box: int = 0) -> Any:
    found = [(b, c, i) for b in range(scores.shape[0]) for c in range(scores.shape[1])
             for i in kept(_corners(boxes[b], center_point_box), scores[b, c], int(most or 0),
                           float(iou_threshold or 0), score_threshold)]
    return from_array(np.array(found, np.int64).reshape(-1, 3))


def _corners(boxes: np.ndarray, center: int) -> np.ndarray:
    if center:
        half = boxes[:, 2:] / 2
        low, high = boxes[:, :2] - half, boxes[:, :2] + half
    else:
        low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    return np.concatenate([low, high], 1)


def kept(boxes: np.ndarray, scores: np.ndarray, most: int, overlap: float,
         least: float | None) -> list[int]:
    """The best boxes, none of which overlaps a better one by more than allowed."""
    order = [int(i) for i in np.argsort(-scores, kind="stable")
             if least is None or scores[i] > least]
    areas = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    found: list[int] = []
    for i in order:
        if len(found) >= most:
            break
        low = np.maximum(boxes[i, :2], boxes[found, :2])
        high = np.minimum(boxes[i, 2:], boxes[found, 2:])
        shared = np.prod(np.maximum(high - low, 0), axis=1)
        union = areas[i] + areas[found] - shared
        if not (np.divide(shared, union, out=np.zeros_like(union), where=union > 0)
                > overlap).any():
            found.append(i)
    return found
