"""What notebooks show of modules: HTML that needs nothing else."""
import html

from .parameter import is_lazy

INDENT = 'style="margin-left: 1.3em"'


def module_html(m, name="", opening='open=""'):
    """A module as a tree that opens and closes, each with the number of its parameters. What holds
    no others says what it prints."""
    members = {} if m is None else m._modules
    extra = members and m.extra_repr()
    said = repr(m) if not members else f"{m._get_name()}({extra})" if extra else m._get_name()
    head = html.escape(f"({name}): {said}" if name else said)
    size = 0 if m is None else sum(p.numel() for p in m.parameters() if not is_lazy(p))
    if size:
        head += f' <span style="opacity: 0.6">{size:,} parameters</span>'
    if not members:
        return f"<div {INDENT}>{head}</div>"
    inner = "".join(module_html(member, name, "") for name, member in members.items())
    return f"<details {INDENT} {opening}><summary>{head}</summary>{inner}</details>"
