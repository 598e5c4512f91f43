"""The largest byte of each window of an image that is stored pixel by pixel.

A unit is a row of output pixels. Windows are cut at the image's borders. The last vector of
channels may begin early: the largest of the same bytes is the same byte.

Arguments: x, y, table, which has DIMS.
"""

from __future__ import annotations

from ..builder import Fn, Module, Val, vec

Reach = tuple[Val, Val]  # the first place, and where they end
DIMS: tuple[str, ...] = ("channels", "height", "width", "out_height", "out_width", "taps_y")
DIMS += ("taps_x", "stride_y", "stride_x", "pad_y", "pad_x", "step_y", "step_x")


def largest(m: Module, symbol: str, width: int) -> None:
    """Write the kernel; `width` channels make a vector, and there are as many or more."""
    f = m.kernel(symbol)
    x, y, table = (f.load("ptr", f.at(f.args[0], i, "i64")) for i in range(3))
    d = {name: f.load("i64", f.at(table, i, "i64")) for i, name in enumerate(DIMS)}
    line = d["width"] * d["channels"]

    def unit(u: Val) -> None:
        image, oy = f.sdiv(u, d["out_height"]), f.srem(u, d["out_height"])
        start = f.bytes_at(x, image * d["height"] * line)
        ys = inside(f, oy * d["stride_y"] - d["pad_y"], d["taps_y"], d["step_y"], d["height"])

        def pixel(ox: Val) -> None:
            xs = inside(f, ox * d["stride_x"] - d["pad_x"], d["taps_x"], d["step_x"], d["width"])
            to = f.bytes_at(y, (u * d["out_width"] + ox) * d["channels"])

            def channels(c: Val) -> None:
                at = f.imin(c, d["channels"] - width)
                found = window(f, d, f.bytes_at(start, at), line, ys, xs, width)
                f.store(found, f.bytes_at(to, at))

            f.loop(0, d["channels"], width, channels)

        f.loop(0, d["out_width"], 1, pixel)

    f.loop(f.args[1], f.args[2], 1, unit)


def inside(f: Fn, first: Val, taps: Val, step: Val, size: Val) -> tuple[Val, Val]:
    """The taps from `first` on, `step` apart, that lie inside a size: (first, end)."""
    before = f.sdiv(f.imax(0 - first, f.const("i64", 0)) + step - 1, step)
    return first + before * step, f.imin(first + taps * step, size)


def window(f: Fn, d: dict[str, Val], x: Val, line: Val, ys: Reach, xs: Reach, width: int) -> Val:
    """The largest of a vector of channels."""
    ty = vec("i8", width)

    def row(y: Val, most: Val) -> Val:
        start = f.bytes_at(x, y * line)

        def tap(x: Val, most: Val) -> Val:
            return f.intr("umax", most, f.load(ty, f.bytes_at(start, x * d["channels"])))

        return f.loop(xs[0], xs[1], d["step_x"], tap, [most])[0]

    return f.loop(ys[0], ys[1], d["step_y"], row, [f.const(ty, 0)])[0]
