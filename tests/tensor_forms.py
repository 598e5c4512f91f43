"""What tests/fuzz_expressions.py draws from: forms of expressions and statements about tensors.

Slots name the kinds of what stands there: {t} a tensor, {v} a tensor that a name is bound to, {i}
an int, {f} a float, {n} one of these, {b} a bool, {s} a string, {d} a dtype. A form begins with the
kind that it makes; `!` is a statement.
"""

FORMS = """
i  n
i  k
i  {t}.shape[0]
i  {t}.size(-1)
i  {t}.dim()
i  {t}.numel()
i  {t}.stride(-1)
i  {t}.stride()[0]
i  {t}.storage_offset()
i  {t}.element_size()
i  {t}.nbytes
i  {v}._version
i  {v}.output_nr
i  len({t})
i  len({t}.shape)
i  {t}.shape.numel()
i  {t}.argmax().item()
i  int({t}.sum())
i  int({b})
i  int({f})
i  {i} + {i}
i  {i} - {i}
i  {i} * {i}
i  {i} // 2
i  {i} % 3
i  -{i}
i  max({i}, {i})
i  len({s})
i  sum({t}.shape)
i  min({t}.shape, default=0)
i  ["p", "q", "r"].index({s}) if {s} in "pqr" else 3
i  {t}.untyped_storage().nbytes()
i  whet.finfo({d}).bits if {d}.is_floating_point else 1
i  {d}.itemsize
i  math.prod({t}.shape)
i  {t}.count_nonzero().item()
f  r
f  float({i})
f  {t}.sum().item()
f  {t}.mean(dtype=whet.float64).item()
f  {f} * {n}
f  {f} + {n}
f  {i} / 4
f  {i} / ({t}.numel() + 1)
f  abs({f})
f  math.sqrt(abs({n}))
f  float(f"{{{f}:.2f}}")
f  whet.finfo(whet.float32).eps * {i}
f  round({f}, 2)
b  {i} > {i}
b  {f} < {f}
b  {t}.is_contiguous()
b  {t}.requires_grad
b  {t}.is_leaf
b  {v} is {v}
b  {v}._base is {v}
b  {t}._is_view()
b  {v}.data_ptr() == {v}.data_ptr()
b  {v}.untyped_storage().data_ptr() == {v}.untyped_storage().data_ptr()
b  {t}.shape == {t}.shape
b  {t}.dtype is {d}
b  {t}.dtype == {t}.dtype
b  {t}.is_floating_point()
b  {t}.grad_fn is None
b  bool(({t} > {n}).any())
b  {t}.equal({t})
b  {s} == mode
b  hasattr({t}, {s})
b  isinstance({t}, whet.Tensor)
b  {t}.device.type == "cpu"
b  {i} in {t}.shape
b  {t}.is_same_size({t})
s  mode
s  str({i})
s  f"{{{f}:.3f}}"
s  str({t}.dtype)
s  repr({t}.shape)
s  str({t}.sum())
s  {s} + {s}
s  "{{}}-{{}}".format({i}, {f})
s  {t}.type()
s  {s}[:{i}]
s  "yes" if {b} else "no"
s  format({t}.sum().item(), ".4g")
d  {t}.dtype
d  whet.float32
d  whet.float64
d  whet.promote_types({t}.dtype, {d})
d  whet.result_type({t}, {n})
d  whet.float64 if {b} else whet.float32
t  {t} + {n}
t  {n} - {t}
t  {t} * {t}
t  {t} / {n}
t  {t} // {n}
t  {t} ** 2
t  -{t}
t  {t} > {n}
t  {t} + whet.tensor({n})
t  {t} * whet.tensor({f}, dtype={d})
t  {t}[{i} % len({t})]
t  {t}[{i}:]
t  {t}[::2]
t  {t}[..., -1]
t  {t}[..., {i} % 2:]
t  {t}[None]
t  {t}[{t} > {n}]
t  {t}[[0, -1]]
t  {t}.view(-1)
t  {t}.view({t}.shape[0], -1)
t  {t}.reshape(-1, {t}.shape[0])
t  {t}.reshape({t}.shape[::-1])
t  {t}.mT
t  {t}.flatten()
t  {t}.t()
t  {t}.unsqueeze({i} % 2)
t  {t}.squeeze()
t  {t}.transpose(0, -1)
t  {t}.movedim(0, -1)
t  {t}.narrow(0, {i} % len({t}), 1)
t  {t}.expand({i} % 3 + 1, *{t}.shape)
t  {t}.diagonal()
t  {t}.chunk(2)[0]
t  {t}.split(1)[{i} % len({t})]
t  {t}.unbind()[-1]
t  {t}.unfold(0, 1, 1)
t  {t}.as_strided((2,), (1,), {i} % {t}.numel())
t  {t}.flip(0)
t  {t}.roll({i}, 0)
t  {t}.repeat({i} % 3, *[1] * {t}.dim())
t  {t}.detach()
t  {t}.clone()
t  {t}.contiguous()
t  {t}.to({d})
t  {t}.type({d})
t  {t}.double()
t  {t}.long()
t  {t}.bool()
t  {t}.view_as({t})
t  {t}.expand_as({t})
t  {t}.type_as({t})
t  {t}.sum({i} % {t}.dim())
t  {t}.sum(-1, keepdim={b})
t  {t}.sum(dtype={d})
t  {t}.mean(0)
t  {t}.max({i} % {t}.dim())[{i} % 2]
t  {t}.cumsum(-1)
t  {t}.softmax(-1)
t  {t}.sort(descending={b})[0]
t  {t}.norm({i} % 3)
t  {t} @ {t}.mT
t  {t}.clamp({f}, {f} + 1)
t  {t}.where({t} > {n}, {n})
t  whet.where({b}, {t}, {t}) if False else {t}
t  whet.cat([{t}, {t}])
t  whet.cat([{t}] * ({i} % 3 + 1), -1)
t  whet.stack([{t}, {t}])
t  whet.full({t}.shape, {n})
t  whet.zeros({t}.shape[0], {i} % 4)
t  whet.ones_like({t}, dtype={d})
t  whet.arange({i} % 6)
t  whet.arange({f}, {f} + 2, 0.5)
t  whet.linspace({f}, {n}, {i} % 5)
t  whet.eye({i} % 4, dtype={d})
t  {t}.new_full(({i} % 3,), {n})
t  whet.tensor([{n}, {n}])
t  whet.tensor({t}.shape)
t  whet.as_tensor({t}.tolist())
t  whet.tensor([{t}.sum(), {n}])
t  whet.einsum({s}, {t}, {t})
t  whet.einsum("...i,...i->..." if {b} else "...i,...j->...ij", {t}, {t})
t  F.pad({t}, ({i} % 3, 1), value={f})
t  F.pad({t}, (1, {i} % 2), mode="constant" if {b} else "replicate")
t  F.gelu({t}, approximate="tanh" if {b} else "none")
t  F.mse_loss({t}, {t}, reduction={s})
t  F.mse_loss({t}, {t}, reduction=["sum", "mean", "none"][{i} % 3])
t  F.one_hot(whet.arange({i} % 4), {i} % 3 + 4)
t  getattr({t}, {s})()
t  getattr(whet, ["sin", "cos", "relu"][{i} % 3])({t})
t  whet.div({t}, {n}, rounding_mode=[None, "floor", "trunc"][{i} % 3])
t  {t}.index_select(0, whet.tensor([{i} % len({t})]))
t  {t}.gather(0, ({t} * 0).long())
t  {t}.scatter(0, ({t} * 0).long(), {n})
t  {t}.masked_fill({t} > {n}, {n})
t  {t}.tril({i} % 3)
t  {t}.kthvalue({i} % {t}.shape[-1] + 1)[0]
t  {t}.quantile(abs({f}) % 1)
t  {t} if {b} else {t}
t  (lambda q, by={n}: q * by)({t})
t  sum([{t}, {t}])
t  whet.from_numpy({t}.detach().numpy())
t  whet.from_numpy({t}.detach().numpy() * {n})
!  {v}.add_({n})
!  {v}.mul_({t})
!  {v}.sub_({t}, alpha={n})
!  {v} += {n}
!  {v} *= {t}
!  {v}[{i} % len({v})] = {n}
!  {v}[..., 0] = {t}.sum()
!  {v}[{v} > {n}] = {n}
!  {v}[:1].add_({n})
!  {v}.view(-1)[{i} % {v}.numel()] = {n}
!  {v}.zero_()
!  {v}.fill_({n})
!  {v}.copy_({t})
!  {v}.clamp_(min={f})
!  {v}.relu_()
!  {v}.neg_()
!  {v}.masked_fill_({t} > {f}, {n})
!  {v}.index_fill_(0, whet.tensor([0]), {n})
!  {v}.transpose_(0, -1)
!  {v}.unsqueeze_({i} % 2)
!  {v}.squeeze_()
!  {v}.t_()
!  {v}.detach_()
!  {v}.diagonal().add_({n})
!  {v}.mT.mul_({n})
!  {v}.detach().mul_({n})
!  {v}.data.add_({n})
!  {v}.detach().numpy()[...] += {n}
!  whet.add({t}, {n}, out={v})
!  whet.sin({v}, out={v})
!  whet.where({t} > 0, {t}, {t}, out={v}) if False else None
!  {v}.swapaxes_(0, -1)
!  {v}.cumsum_(0)
!  {v}.uniform_(0, 1)
!  {v} = {t}
!  {v}, {v} = {v}, {v}
"""
