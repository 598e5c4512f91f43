"""Lists of tensors in groups of one device and type, as optimizers work through them."""

__all__ = ["_group_tensors_by_device_and_dtype"]


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    """Lists of equal lengths, cut by the device and type of the first list's tensors: a dict of
    (device, dtype) to (lists, places)."""
    groups: dict = {}
    for i, first in enumerate(tensorlistlist[0]):
        groups.setdefault((first.device, first.dtype), []).append(i)
    return {key: ([[each[i] for i in places] for each in tensorlistlist],
                  places if with_indices else [])
            for key, places in groups.items()}
