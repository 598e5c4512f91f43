"""Which function an operator of one's own has for tensors of a kind of devices.

A function is given for a kind of devices ("cpu", "cuda"), or under a dispatch key of PyTorch's
("CPU", "CompositeImplicitAutograd"). Functions for devices that are not here are kept, and never
called. Keys that would change what a call of other tensors is are refused.
"""

# as PyTorch's messages list them
DEVICES = ("cpu cuda ipu xpu mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan mps meta "
           "hpu mtia privateuseone").split()
ANY = "any device"
# of functions that are made of other ops, gradients and all
COMPOSITE = "composite"
KEYS = {name: name.lower() for name in "CPU CUDA IPU XPU HIP VE FPGA MAIA XLA Lazy MPS HPU MTIA "
        "Vulkan Meta".split()} | {
    "": ANY, "CompositeExplicitAutograd": ANY, "PrivateUse1": "privateuseone",
    "CompositeImplicitAutograd": COMPOSITE, "Autograd": COMPOSITE, "AutogradCPU": COMPOSITE,
    "AutogradCUDA": COMPOSITE}


def of_key(key):
    """What a dispatch key stands for."""
    if key not in KEYS:
        raise RuntimeError(f"could not parse dispatch key: {key}")
    return KEYS[key]


def of_types(types):
    """What kinds of devices, or dispatch keys among them, stand for, each."""
    if types is None:
        return [ANY]
    found = []
    for kind in (types,) if isinstance(types, str) else types:
        if kind == "default":
            found.append(ANY)
        elif kind in KEYS:
            found.append(KEYS[kind])
        elif kind in DEVICES:
            found.append(kind)
        else:
            raise RuntimeError(f"Expected one of {', '.join(DEVICES)} device type at start of "
                               f"device string: {kind}")
    return found


def kind_of(tensors):
    """The kind of devices that a call of tensors is for: that of a device, where one is there."""
    kinds = {t.device.type for t in tensors}
    return next((kind for kind in ("cuda", "meta") if kind in kinds), "cpu")


def chosen(name, functions, tensors):
    """The function of an operator that runs on tensors."""
    kind = kind_of(tensors)
    function = functions.get(kind) or functions.get(ANY)
    if function is None:
        raise NotImplementedError(
            f"Could not run '{name}' with arguments from the '{kind.upper()}' backend: there is no "
            f"function for it. There are some for {sorted(functions) or 'none'}; "
            "whet.library.impl and register_kernel give others")
    return function
