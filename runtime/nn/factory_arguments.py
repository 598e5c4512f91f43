"""What layers pass on to the functions that make their tensors."""


def factory_kwargs(kwargs):
    """The arguments for functions that make tensors, out of those of a layer: `device`, `dtype`,
    `memory_format`, and what stands under `factory_kwargs`. Others are an error.

    >>> import whet
    >>> whet.nn.factory_kwargs({"dtype": whet.float64, "factory_kwargs": {"device": "cpu"}})
    {'dtype': whet.float64, 'device': 'cpu'}
    """
    if kwargs is None:
        return {}
    known = {"device", "dtype", "memory_format"}
    unexpected = set(kwargs) - known - {"factory_kwargs"}
    if unexpected:
        raise TypeError(f"unexpected kwargs {unexpected}")
    made = dict(kwargs.get("factory_kwargs", {}))
    for name in kwargs:
        if name in made:
            raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
    return {name: kwargs[name] for name in kwargs if name in known} | made
