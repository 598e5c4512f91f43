"""What the random functions of tests/fuzz_jit.py are made of: lines with {x}, {y}, {z} for tensors,
{n} for a number, {i} for an index and
{v} for the result, in groups with a weight; and the module around them.
"""
TEXTS = {
    "random": [
        6, "F.dropout({x}, 0.5, True)", "whet.rand_like({x})", "{x} + whet.randn({x}.shape)",
        "whet.rand(3)", "{x}.clone().normal_()", "{x} * (whet.rand({x}.shape) > 0.5)",
        "whet.randint(0, 5, {x}.shape)", "whet.bernoulli(whet.sigmoid({x}))",
        "{x}.index_select(0, whet.randperm({x}.shape[0]))", "whet.empty_like({x}).uniform_()",
        "F.dropout(F.dropout({x}), 0.25)"],
    "index": [
        8, "{x}[({y} > 0)]", "{x}[{x} > 0]", "whet.where({x} > {y}, {x}, {n})",
        "{x}.gather(-1, {x}.argsort(-1))", "{x}[({y}.reshape(-1).long() * 0)]",
        "{x}.index_select(-1, whet.arange({x}.shape[-1]))", "{x}.masked_select({x} > {n})",
        "{x}.nonzero()", "{x}[..., -1]", "{x}[None, ..., 0:2]", "{x}[[0, -1]]",
        "whet.zeros_like({x}).scatter(0, {x}.long() * 0, {x})",
        "whet.zeros_like({x}).index_add(0, whet.arange({x}.shape[0]), {x})",
        "F.one_hot({x}.argmax(-1), {x}.shape[-1])",
        "{x}.tril()",
        "{x}.roll(1, 0)",
        "{x}.split(1, 0)",
        "whet.zeros_like({x}).index_put((whet.zeros({x}.shape[0]).long(),), {x}, accumulate=True)",
        "{x}.index_fill(0, whet.tensor([0]), {n})", "{x}.scatter_add(-1, {x}.argsort(-1), {y})",
        "{x}.take_along_dim({x}.argsort(0), 0)", "{x}.topk(1, 0)", "{x}.sort(-1)[0]",
        "{x}.kthvalue(1, -1)[0]", "whet.searchsorted({x}.flatten().sort()[0], {y})", "{x}.flip(0)",
        "{x}.diagonal()", "{x}.median(-1)[0]", "{x}.chunk(2, -1)",
        "whet.stack({x}.unbind(0)[::-1])",
        "whet.scatter_reduce({x}, 0, {x}.long() * 0, {y}, 'amax')", "{x}.amax((0, -1))",
        "{x}.cummax(0)[0]", "{x}.aminmax()[1]",
        "{x}.unsqueeze(1).expand({x}.shape[0], 2, *{x}.shape[1:])", "{x}.unfold(0, 1, 1)",
        "{x}[::2]", "{x}.mT", "{x}[:, {i}]", "{x}.unique()"],
    "write": [
        10, "{x}[{i}:].mul_({y})", "{x}[{i}] = {n}", "{x}[{x} > 0] = {n}", "{x}[..., 0].add_({y})",
        "{x}.t().add_({n})", "{x}[0:1] = {y}", "{x}.view(-1)[0:2].zero_()", "{x} += {y}",
        "{x} *= {n}", "{x} -= {x}", "{x}.detach().mul_({n})", "{x}.copy_({y})", "{x}.normal_()",
        "{x}.data.add_(1)", "{x}.expand_as({x}).add_(1)", "{x}.masked_fill_({x} > 0, {n})",
        "{x}.index_add_(0, whet.arange(1), {x}[:1])", "{v} = {x}.clone()\n{v} += {y}",
        "{v} = {x} * 2\n{v}[{i}:] = {n}", "{v} = {x} + 0\n{v}[..., :1].mul_({y})\n{v}.relu_()",
        "for {v} in {x}.unbind():\n    {v}.add_({n})", "{x}.clamp_({n})", "{x}.fill_({n})",
        "{x}.addcmul_({x}, {y})", "{x}.lerp_({y}, 0.5)", "whet.add({x}, {y}, out={z})",
        "{x}.transpose(0, -1).copy_({y})", "{x}.unsqueeze(0).sub_({y})", "{x}.bernoulli_(0.5)",
        "{x}.index_put_((whet.tensor([0]),), {n})", "{x}.scatter_(0, {x}.long() * 0, {y})",
        "{x}.index_copy_(0, whet.tensor([0]), {y}[:1])",
        "{v} = {x}.clone()\n{v}.diagonal().add_({y}.sum())\n{v}.mT.mul_(2)",
        "{v} = {x} * 1\n{v}.view(-1)[::2].copy_({y}.reshape(-1)[::2])",
        "{v} = {x} * 1\na, b = {v}[:1], {v}[1:]\na.mul_({n})\nb += {y}.sum()",
        "{v} = ({x} + 1)[0]\n{v} *= {y}.sum()",
        "{x}.squeeze_()",
        "{x}.requires_grad_()",
        "{v} = {x}.detach()\n{v}[..., 0] = {n}",
        "{v} = whet.zeros_like({x})\n{v}.copy_({x})\n{v}.tanh_()"],
    "branch": [
        5,
        "if {x}.sum().item() > 0:\n    {v} = {y} * 2\nelse:\n    {v} = {y} - {n}",
        "if ({x} > -1e9).all():\n    {v} = {y} + {x}\nelse:\n    {v} = {y}",
        "if {x}.shape[0] > 2:\n    {v} = {x}[:2]\nelse:\n    {v} = {x}",
        "if {n} > 0:\n    {v} = {x} * {n}\nelse:\n    {v} = -{x}",
        "if {x}.dtype == whet.float32:\n    {v} = {x}.exp()\nelse:\n    {v} = {x}",
        "if bool(whet.isnan({x}).any()):\n    raise ValueError('not a number')",
        "assert len({x}) < 60, 'long'",
        "if {x}.is_contiguous():\n    {v} = {x}.view(-1)\nelse:\n    {v} = {x}.reshape(-1) * 2",
        "{v} = {x}.max().item()",
        "if {x}.requires_grad and whet.is_grad_enabled():\n    {v} = {x} * 3\nelse:\n    {v} = "
        "{x}.detach()",
        "{v} = int(({x} > -1e9).sum())",
        "{v} = repeated({x}, {n})",
        "{v} = {x}\nfor i in range(int({n}) % 5):\n    {v} = {v} + i",
        "{v} = {x}\nfor i in range({x}.shape[0] % 4):\n    {v} = {v} * {y}[i]",
        "{v} = [{x}, {y}][int({x}.sum() > 0)]",
        "{v} = {x} if {n} else {y}",
        "try:\n    {v} = {x} @ {y}\nexcept RuntimeError:\n    {v} = {x}",
        "{v} = {x}.tolist() if {x}.numel() < 3 else 1", "{v} = {x}.numel()",
        "{v} = {x} * {y}.flatten()[0].item()", "{v} = float({x}.ndim)"], "python": [
            7, "helper({x}, {y})", "{v} = {x}\nfor _ in range(3):\n    {v} = {v} * 0.5 + {y}",
            "sum([{x}, {y}, {x}])", "{v} = [t * 2 for t in ({x}, {y})]", "Pair({x}, {y}).total()",
            "(lambda t: t * {n})({x})", "{v} = {x}\nif {x}.grad is not None:\n    {v} = {x}.grad",
            "whet.stack([{x}, {x}]).mean(0)", "{v} = {x}\nwhile {v}.ndim < 3:\n    {v} = {v}[None]",
            "whet.tensor([1.0, 2.0, 3.0])", "whet.arange({x}.shape[0])",
            "whet.full({x}.shape, {n})", "whet.ones_like({x})", "whet.zeros({x}.shape) + {n}",
            "{x}.new_full((2,), {n})", "whet.tensor({n})", "{v} = whet.eye(3)\n{v}[1] = {n}",
            "{x}.type_as({y})", "{v} = counter({n})\n{v}({x})\n{v} = {v}({y})",
            "{v} = {{'a': {x}, 'b': [{y}, {n}]}}['b'][0] * 2", "Several(x0={x}, x1={y}).x1 + {x}",
            "max([{x}, {y}], key=lambda t: t.numel())", "{x}.half() + {y}", "{x}.bfloat16() * {n}",
            "{x}.double() - {y}", "({x}, {y})", "whet.where({x}.isnan(), {n}, {x})",
            "whet.nan_to_num({x})", "{x}.to(whet.float16).sum(0)", "float({n}) * {x}",
            "whet.atleast_2d({x}).sum()", "[t for t in {x}] [0]",
            "{v} = [*{x}]\n{v} = {v}[-1] + {v}[0]", "{x}.sum() if {x}.ndim > 1 else {x}.exp()",
            "{x}.mean((0, -1), keepdim=True)"], "state": [
                0.3, "box.k0 += 1", "box.last = {x}", "seen.append({n})", "table['last'] = {x}",
                "box.w0 = {x}"], "net": [
                    1.5, "net({x})", "net({x}).sum().backward()",
                    "step.zero_grad()\nnet({x}).square().mean().backward()\nstep.step()",
                    "step.step()", "step.zero_grad()", "net.eval()({x})", "net.scale * {x}.sum()",
                    "net.train()", "net.seen + 1"],
    "nn": [
        6, "F.softmax({x}, -1)", "F.layer_norm({x}, {x}.shape[-1:])", "F.gelu({x})",
        "F.linear({x}, {y})", "F.mse_loss({x}, {y})", "F.cross_entropy({x}, {x}.argmax(-1))",
        "F.log_softmax({x}.float(), 0)", "F.normalize({x}, dim=-1)", "F.leaky_relu({x}, 0.1)",
        "whet.einsum('ij,kj->ik', {x}, {y})", "F.pad({x}, (1, 1))", "{x} @ {y}.mT",
        "({x} * {y}).sum(-1).sigmoid()", "F.smooth_l1_loss({x}, {y})", "{x}.softmax(0) @ {y}",
        "F.hardtanh({x})", "F.elu({x})", "whet.cat([{x}, {y}, {x}], -1)",
        "whet.std({x}) + {x}.var(-1, keepdim=True)",
        "F.conv1d({x}[None], {x}[:, None, :2], groups={x}.shape[0])",
        "F.conv1d({x}[:1, None], {y}[:1, None, :2], padding=1)",
        "F.conv2d({x}[None, None], {y}[None, None, :2, :2])",
        "F.max_pool1d({x}, 2)",
        "F.avg_pool1d({x}, 2, 1)",
        "F.group_norm({x}[None], 1)",
        "F.batch_norm({x}, None, None, training=True)",
        "F.instance_norm({x}[None])",
        "F.rms_norm({x}, {x}.shape[-1:])",
        "F.embedding({x}.argmax(-1), {y})",
        "F.nll_loss(F.log_softmax({x}, -1), {x}.argmin(-1))",
        "F.huber_loss({x}, {y})",
        "F.kl_div(F.log_softmax({x}, -1), F.softmax({y}, -1))",
        "F.scaled_dot_product_attention({x}[None], {y}[None], {y}[None])",
        "F.binary_cross_entropy_with_logits({x}, {y}.sigmoid())", "F.mish({x})",
        "F.glu({x}.repeat(1, 2))", "{x}.cumsum(0).logsumexp(-1)",
        "whet.outer({x}.flatten(), {y}.flatten())", "whet.norm({x} + 1)", "F.softplus({x}, 2)",
        "whet.addmm({x}, {y}, {y}.mT)", "whet.bmm({x}[None], {y}.mT[None])",
        "whet.baddbmm({x}, {x}[None], {y}.mT[None] @ {x})", "{x}.prod(-1)", "{x}.norm(dim=0)",
        "whet.linalg.inv({x} @ {x}.mT + whet.eye({x}.shape[0]))",
        "F.interpolate({x}[None], scale_factor=2)",
        "whet.cdist({x}, {y})",
        "{x}.cumprod(-1)"],
    "grad": [
        6,
        "{x}.sum().backward()",
        "({x} * {x}).mean().backward()",
        "{x}.sum().backward(retain_graph=True)",
        "({x} * {y}).sum().backward()",
        "{v} = whet.autograd.grad(({x} * {x}).sum(), [{y}], allow_unused=True)[0]",
        "{v} = whet.autograd.grad({x}.sum(), {y}, create_graph=True)[0]",
        "if {x}.grad is not None:\n    {x}.grad.zero_()",
        "{x}.grad = None",
        "if {x}.grad is not None:\n    with whet.no_grad():\n        {x} -= 0.1 * {x}.grad",
        "{v} = {x}.detach().clone().requires_grad_()\n({v} * {v}).sum().backward()\n{v} = {v}.grad",
        "{v} = {x}.detach().requires_grad_()", "with whet.no_grad():\n    {x}.mul_(0.5)",
        "{x}.grad = {y}.detach().clone()", "{x}.requires_grad", "{x}.backward()",
        "{v} = whet.autograd.grad({x}.square().sum(), {x}, create_graph=True)[0]\n{v} = {v} * {y}",
        "{v} = {x}.detach()",
        "{v} = {x}.data * 2",
        "with whet.no_grad():\n    {v} = {x} * 2",
        "with whet.enable_grad():\n    {v} = {x}.detach().requires_grad_().exp()",
        "{v} = {x}.clone().detach_()",
        "({x} * {x}).sum().backward(inputs=[{y}])",
        "{v} = {x}.grad if {x}.grad is not None else {y}",
        "if {x}.grad is None:\n    {x}.grad = whet.zeros_like({x})\n{x}.grad += {y}.detach()",
        "with whet.no_grad():\n    {x}[...] = {y}"],
    "deep": [
        2,
        "deep({x})",
        "adam.zero_grad()\nF.smooth_l1_loss(deep({x}), deep({y}).detach()).backward()\nadam.step()",
        "adam.step()",
        "sched.step()",
        "deep({x}).sum().backward()\nnn.utils.clip_grad_norm_(deep.parameters(), 0.5)\n"
        "adam.step()\nrms.step()",
        "rms.zero_grad(set_to_none=False)", "deep.eval()", "deep.train()",
        "adam.param_groups[0]['lr'] *= 0.5", "adam.param_groups[1]['lr'] * {x}", "rms.step()",
        "sum(p.sum() for p in deep.parameters())",
        "with whet.no_grad():\n    for p in deep.parameters():\n        p.mul_(0.9)",
        "deep.drop.p = 0.25", "deep.norm.weight.requires_grad_(False)", "deep.up.weight.grad",
        "deep.down.bias.data.zero_()", "adam.zero_grad()", "deep.calls",
        "deep({x}).sum().backward()\nfor p in deep.parameters():\n    if p.grad is not None:\n    "
        "    p.grad.clamp_(-0.1, 0.1)",
        "{v} = whet.autograd.grad(deep({x}).sum(), list(deep.down.parameters()), "
        "create_graph=True)\n{v} = {v}[0].square().sum()",
        "adam.step(lambda: deep({x}).sum())",
        "len(adam.state)",
        "{v} = [m({x}) for m in pool]",
        "pool[{i}]({x})"],
    "views": [
        4,
        "{v} = {x} * 1\na = {v}[..., :1]\nb = a[:1]\nb.mul_({n})\n{v} = {v} + a.sum()",
        "{v} = {x} * 1\nb = {v}.exp()\n{v}.add_({n})\n{v} = b * {v}",
        "{v} = {x}.clone()\na, b = {v}.view(-1), {v}[None]\na[:1] = {n}\nb.add_(a.sum())\n{v} = "
        "({v}, a, b)",
        "{v} = {x} + 0\nb = {v}.t().t()[..., ::2]\nwith whet.no_grad():\n    b.zero_()\n{v} = {v} "
        "* b.sum()",
        "{v} = {x}.unsqueeze(0).expand(2, *{x}.shape).clone()\n{v}[0].mul_({v}[1])",
        "{v} = {x} * 1\n{v}.diagonal().copy_({v}.diagonal() * 2)",
        "{v} = {x}.detach().clone()\nb = {v}[0]\n{v}.copy_({y})\n{v} = b + {v}",
        "{v} = {x} * 1\nb = {v}[:1].detach()\n{v}.mul_({y})\n{v} = ({v}, b)",
        "{v} = {x} * 2\na, b = {v}[::2], {v}[1::2]\na.add_(1)\nb.mul_({n})\n{v} = whet.cat([b, a])",
        "{v} = {x}.mT\n{v}.data.mul_(2)",
        "{v} = {x} * 1\na = {v}[0]\n{v}[1:].add_(a)\na.sub_({v}[-1])",
        "{v} = {x}.detach()\na = {v}.view(-1)\na[a > 0] = {n}\n{v} = a.sum()",
        "{v} = {x} * 1\na = {v}.narrow(0, 0, 1)\n{v} = {v}.squeeze(0)\na.exp_()",
        "{v} = {x} * 1\n{v}[0], {v}[-1] = {v}[-1].clone(), {v}[0].clone()",
        "{v} = whet.zeros(3, *{x}.shape)\nfor a in range(3):\n    {v}[a] = {x} * a\n    "
        "{v}[a:].add_({y})",
        "{v} = {x} * 1\n{v}.add_({v}[:1])\n{v}.T.sub_({n})",
        "{v} = {x} * 1\na = {v}.view_as({v})\na *= {y}\nb = a.reshape(-1)\nb[::2] -= 1\n{v} = "
        "({v} * a, b)"
    ], "pick": [
        4, "{x}[whet.tensor([0, -1, 0])]", "{x}[whet.tensor([[0], [-1]]), whet.tensor([0, -1])]",
        "{v} = {x}.clone()\n{v}[whet.tensor([0, 0, -1])] += 1",
        "{v} = {x} * 1\n{v}[{v} > {n}] *= 2", "{x}[:, None, [0]]", "{x}[..., whet.tensor(0)]",
        "{x}.take(whet.tensor([0, -1]))", "{x}[:int({n}) % 4]",
        "{v} = {x} * 1\n{v}[:, whet.arange({x}.shape[1]) > 0] = {n}",
        "{x}.index_put((whet.tensor([0, 0]),), {y}[:2], accumulate=True)",
        "{x}.masked_scatter({x} > 0, {y})",
        "{x}.scatter_reduce(0, {x}.long().abs() % {x}.shape[0], {y}, 'mean')",
        "{x}[int({y}.argmax()) % {x}.shape[0]]",
        "{v} = {x} * 1\n{v}[int({n}) % {x}.shape[0]] = {y}.sum()",
        "{x}[({x}.long().abs() % {x}.shape[0]).view(-1)[:2]]",
        "{x}[({y} > 0).nonzero()[:, 0]]",
        "{x}.index_add(0, whet.tensor([0, 0]), {y}[:2], alpha={n})",
        "whet.bincount({x}.long().abs().view(-1) % 5)",
        "{x}.argsort(0)[0] + 1",
        "{x}.gather(0, ({x}.long().abs() + 1) % {x}.shape[0])",
        "whet.histc({x}.float(), 4, -2, 2)",
        "{x}.count_nonzero(0)",
        "{x}.repeat_interleave(2, 0)",
        "{x}.gather(-1, {x}.argsort(-1)) * {y} + 1",
        "{x}.index_select(0, {x}.argsort(0)[..., 0]) * {n} + {x}",
        "{x}.reshape(-1)[({y} * {n}).reshape(-1).long()] * 2",
        "{v} = {y}.long().abs() % {x}.shape[0]\n{v} = {x}[..., 0][{v}] * {y} + {v}",
        "{v} = {x}.flatten()\na = {v}.sigmoid() * ({v}.numel() - 1)\n{v} = {v}[a.long()] * (1 - "
        "a) + {v}[-a.long()] * a",
        "{v} = {x}[{y}[:, 0].long() % {x}.shape[0]] * 2\n{x}.mul_({n})\n{v} = {v} + 1",
        "F.embedding({y}.long().abs() % {x}.shape[0], {x}) * 2 + 1"],
    "move": [
        4,
        "whet.cat([-{x}[..., 1:], {x}[..., :1]], -1) * {y} + {x}",
        "whet.cat([{x} * 2, {y}.exp()], -1) * 0.5",
        "F.pad({x} * {n}, (1, 2)) + 1",
        "({x}.roll(1, 0) + {x}.roll(-1, -1) - 2 * {x}).tanh()",
        "whet.stack([{x} + 1, {y}], -1) * {n}",
        "{x}.flip(-1) * {y} - {x}.flip(0)",
        "whet.cat([{x}.tanh(), {y}, {x}[:1]]).roll(1, 0)[..., None] + 1",
        "F.pad({x}.sigmoid(), (-1, 1), value=0.5)[..., :1] * {y}",
        "{v} = {x}.clone()\n{v}[..., 1:] = ({y} * 2)[..., 1:].exp()\n{v} = {v} + 1",
        "whet.slice_scatter({x} * 2, {y}[:1] - 1) * {n}",
        "{v} = whet.cat([{x}, {y} * 2])\n{v} = ({v}, {v}.exp(), {v} * {n}, {v}[1:])",
        "{x}.copy_({x}.roll(1, 0) * {n} + {y})",
        "{v} = {x} + 0\n{v}[1:] = {v}[1:] + {v}[:-1] * {n}\n{v} = {v} * 2",
        "whet.stack([{x} * 2, {x} - {y}, {y}]).tanh().sum(0)",
        "{v} = whet.zeros(2, *{x}.shape)\n{v}[0] = {x} * {n}\n{v}[1] = {y}.tanh()\n{v} = {v} * 2",
        "{v} = {x}\nfor _ in range(10):\n    {v} = {v} * 0.5 + {v}.roll(1, 0) - {v}.flip(0)"],
    "out": [
        2,
        "whet.mul({x}, {y}, out={z})",
        "{v} = whet.empty_like({x})\nwhet.exp({x}, out={v})",
        "{v} = whet.empty(0)\nwhet.matmul({x}, {y}.mT, out={v})",
        "whet.sum({x}, 0, out={z})",
        "whet.cat([{x}, {y}], out={z})",
        "{v} = {x}.detach().clone()\nwhet.add({v}[1:], 1, out={v}[:-1])",
        "a, b = whet.empty_like({x}), whet.empty(0).long()\n{v} = whet.sort({x}.detach(), 0, "
        "out=(a, b))",
        "whet.where({x} > 0, {x}, {y}, out={z})",
        "{v} = whet.zeros_like({x})[:1]\nwhet.amax({x}.detach(), 0, keepdim=True, out={v})",
        "whet.sub({x}.detach(), {y}.detach(), out={x}.detach())"],
    "raise": [
        2,
        "if {n} > 2:\n    {x}.detach().add_(1)\n    raise ValueError('late')",
        "{x}.detach().mul_(2)\nassert {x}.sum() < 60",
        "1 / ({x}.numel() - 4)",
        "seen.append({n})\nif {x}.sum() > 4:\n    raise KeyError('large')",
        "box.last = {x}.detach()\nif {x}.max() > 3:\n    raise IndexError({n})",
        "try:\n    {x}.detach().sub_(1)\n    whet.zeros(2) + whet.zeros(3)\nexcept RuntimeError:\n"
        "    {v} = {x} + 1",
        "try:\n    if {x}.sum() > 0:\n        raise KeyError\n    {v} = {x}\nexcept KeyError:\n   "
        " {v} = {y} * 2\nfinally:\n    box.k0 = {n}",
        "{x}.detach().neg_()\n{x}.reshape(-1)[3]",
        "{v} = whet.linalg.cholesky({x} @ {x}.mT)",
        "box.k0 = {n}\n{v} = {x}[{i}]",
        "{x}.view(-1, 2)",
        "for a in {x}:\n    if a.sum() > 2:\n        break\n    {v} = a",
        "{x}.sum().backward()\nassert {x}.sum() < 5",
        "{x}.detach().view(-1)[0] += 1\n{x} @ {y}"],
    "grow": [
        1.5, "rows.append({x}.detach())\n{v} = sum(r.sum() for r in rows)",
        "rows.append({x}.detach().sum())", "log['n'] = log.get('n', 0) + 1", "len(rows)",
        "log[{n}] = {x}.ndim", "box.count = getattr(box, 'count', 0) + 1\n{v} = {x} * box.count",
        "seen.append(float({x}.detach().sum()))", "box.total = box.total + {x}.detach().sum()",
        "ring.append({n})", "names.add(str({x}.ndim))", "box.state = ({x}.detach(), {n})",
        "if box.last is not None:\n    {v} = {x} + box.last\nelse:\n    {v} = {x}\nbox.last = "
        "{x}.detach()",
        "rows[:] = rows[-2:]",
        "box.k0 += 1\n{v} = {x} * box.k0",
        "table['n'] = table.get('n', 0) + 1\nif table['n'] % 2:\n    {v} = {x} * 2\nelse:\n    "
        "{v} = {x}",
        "log.pop('n', None)",
        "box.total.add_(1)",
        "box.total = {x}.sum() * 2",
        "log['ema'] = {x}.detach().mean() * 0.1 + log.get('ema', 0.0) * 0.9\n{v} = log['ema']",
        "rows.append(({x} * 2).sum())",
        "seen.append({x}.detach().sum().item())\n{v} = {x} * seen[-1]",
        "box.best = max(getattr(box, 'best', -1e9), {x}.max().item())\n{v} = {x} - box.best"],
    "call": [
        2, "Cube.apply({x})", "inner({x})", "inner({x} * {n}) + {y}",
        "checkpoint(helper, {x}, {y}, use_reentrant=False)",
        "whet.cond({x}.sum() > 0, lambda a, b: a * 2, lambda a, b: a - 1, ({x}, {y}))",
        "whet.scan(lambda c, a: (c + a, c * a), {x}[0], {x})[1]",
        "whet.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2), (whet.tensor(0), "
        "{x}))[1]",
        "whet.vmap(lambda a: (a * 2).sum())({x})",
        "with whet.inference_mode():\n    {v} = {x} * 2",
        "pure({x}, {n})",
        "{v} = [pure(a, {n}) for a in {x}.unbind()][-1]",
        "held.step({x})",
        "held({x})",
        "whet.while_loop(lambda i, a: (i < 5) & (a.abs().sum() < 50), lambda i, a: (i + 1, a * 2 "
        "+ 1), (whet.tensor(0), {x}.detach()))[1]",
        "reduce(lambda a, b: a * b, {x}.unbind(), {y})",
        "[*map(lambda a, b: a + b.sum(), {x}, {y})][0]",
        "dict(a={x}, b={y})[{n} > 1 and 'a' or 'b']",
        "(lambda *a, **k: a[0] * k['s'])({x}, {y}, s={n})"], "seeds": [
            1, "whet.rand({x}.shape, generator=gen)", "{x}.clone().normal_(generator=gen)",
            "whet.manual_seed(3)", "gen.manual_seed(5)", "whet.randn(2) * {x}.sum()",
            "whet.randperm({x}.shape[0], generator=gen)",
            "whet.multinomial({x}.abs().float().flatten() + 0.1, 2)",
            "F.dropout({x}, {n}, {n} > 0)", "whet.randint(0, 9, (2,)) % {n}",
            "{x}.clone().exponential_()", "whet.normal(0.0, 1.0, {x}.shape)",
            "F.gumbel_softmax({x}, dim=-1)"],
    "types": [
        3, "{x}.long() // 2", "{x}.bool() & ({y} > 0)", "{x}.to(whet.uint8)",
        "{x}.to(whet.complex64) * 1j", "whet.view_as_real({x}.to(whet.complex64))", "{x}.real",
        "{x}.int() << 1", "{x}.to(whet.int8).sum()", "({x} * 10).to(whet.int16) % 7",
        "({x} > 0) ^ ({y} > 0)", "~({x} > {n})", "-({x} > 0).int()",
        "{x}.to(whet.complex64).angle()", "({x} > 0).sum(0)", "({x} > 0).cumsum(0) / 2",
        "{x}.long() / {n}", "{x}.int() * {n}", "{x}.half() ** 2",
        "{v} = {x}.long()\n{v} += 1\n{v} = {v} * {y}", "({x} > 0).any(-1)",
        "({x} > 0).float().mean()", "{x}.to(whet.int32).float() - {x}",
        "{v} = {x} > 0\n{v} |= {y} > 0", "whet.tensor([1, 2]) * {n}", "{x}.bfloat16().sum(-1)",
        "{x}.half().softmax(-1)", "whet.complex({x}.float(), {x}.float()).abs()",
        "{x}.to({y}.dtype)", "{x}.abs().int().bitwise_and(3)", "whet.zeros(0) + {x}[:0].sum()",
        "{x}[:0].amax(-1) if {x}.ndim > 1 else {x}", "{x}[..., :0].sum(-1)",
        "whet.where({x} > 0, {x}, {x}.long())", "{x}.double().half()",
        "whet.promote_types({x}.dtype, {y}.dtype)", "{x}.conj() * 1j", "{x} // 0.3", "{x} % -1.5"],
    "hook": [
        0.7,
        "h = {x}.register_hook(lambda g: g * 2)\n({x} * {x}).sum().backward()\nh.remove()",
        "{v} = {x} * 1\n{v}.register_hook(lambda g: g * {n})",
        "{v} = {x} * 2\n{v}.retain_grad()\n{v}.sum().backward()\n{v} = {v}.grad",
        "h = net.register_forward_hook(lambda m, a, o: o * 2)\n{v} = net({x})\nh.remove()",
        "{v} = {x} * 1\nnode = {v}.grad_fn\n{v} = 0 if node is None else len(node.next_functions)"
    ], "array": [
        0.5, "whet.from_numpy(arr) + {x}", "whet.as_tensor(arr).sum() * {x}", "{x} * arr[0]",
        "{x}.detach().numpy().sum()", "whet.tensor(arr)", "{x} + float(arr.sum())"], }
HEAD = """import math
import whet
from whet import nn
from whet.nn import functional as F


class Box:
    pass


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def total(self):
        return (self.a + self.b * 0.5).tanh()


def helper(a, b):
    return (a * 0.5 + b).tanh() + k0


def counter(step):
    total = 0

    def add(x):
        nonlocal total
        total = total + x * step
        return total
    return add


def repeated(x, n, *, scale=0.5):
    for i in range(int(n) % 5):
        x = x * scale + i
    return x


box, table, seen, k0, k1 = Box(), {}, [], 1, 1
box.last, box.total = None, 0.0
"""
# what a function may name beside: a name -> the source that defines it and what comes with it
PARTS = {
    "net step": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(1)
        self.drop, self.scale = nn.Dropout(0.5), nn.Parameter(whet.tensor([1.0, 0.5]))
        self.register_buffer("seen", whet.zeros(()))

    def forward(self, x):
        self.seen += 1
        return self.drop(x) * self.scale[0] + self.norm(x.reshape(1, 1, -1).float()).mean() * self.scale[1]


net = Net()
step = whet.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
""",
    "deep adam rms sched": """
class Deep(nn.Module):
    calls = 0

    def __init__(self):
        super().__init__()
        self.embed, self.up, self.norm, self.drop = nn.Embedding(3, 4), nn.Linear(4, 3), nn.LayerNorm(3), nn.Dropout(0.5)
        self.down = nn.Sequential(nn.GELU(), nn.Linear(3, 2, bias=False))
        nn.init.constant_(self.embed.weight, 0.25)
        nn.init.eye_(self.up.weight)
        nn.init.constant_(self.up.bias, 0.1)
        nn.init.constant_(self.down[1].weight, -0.5)

    def forward(self, x):
        self.calls += 1
        h = self.embed(whet.tensor([1, 0])) * (x.real if x.is_complex() else x).float().mean()
        return self.down(self.drop(F.gelu(self.norm(self.up(h)))))


deep = Deep()
adam = whet.optim.AdamW([{"params": deep.up.parameters()}, {"params": deep.down.parameters(), "lr": 0.05, "weight_decay": 0.1}], lr=0.01)
rms = whet.optim.RMSprop(deep.embed.parameters(), lr=0.02, momentum=0.5, centered=True)
sched = whet.optim.lr_scheduler.StepLR(adam, 2, 0.5)
""",
    "pool": """
pool = nn.ModuleList([nn.Softplus(), nn.Hardtanh(), nn.Flatten(0)])
""",
    "Cube": """
class Cube(whet.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 3 * x ** 2 * g
""",
    "inner": """
def inner(x):
    return (x * 0.5).sin() + k0
""",
    "pure": """
@whet.no_grad()
def pure(x, n=2, *, how="mul"):
    return x * n if how == "mul" else x
""",
    "held": """
class Held:
    scale, count = 0.5, 0

    def __init__(self):
        self.kept = None

    def __call__(self, x):
        self.count += 1
        return x * self.scale

    @property
    def twice(self):
        return self.scale * 2

    def step(self, x):
        self.kept = x.detach() if self.kept is None or self.kept.shape != x.shape else self.kept * self.twice + x.detach()
        return self.kept.sum() * x


held = Held()
""",
    "checkpoint": "from whet.utils.checkpoint import checkpoint\n",
    "reduce": "from functools import reduce\n",
    "gen": "gen = whet.Generator().manual_seed(11)\n",
    "rows": "rows = []\n",
    "log": "log = {}\n",
    "ring": "import collections\nring = collections.deque(maxlen=3)\n",
    "names": "names = set()\n",
    "arr": "import numpy\narr = numpy.array([1.0, 2.0], numpy.float32)\n",
}
