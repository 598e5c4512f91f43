"""What a profiler says of eager and traced code, and that it leaves no trace of itself."""
import gc
import json
import os
import subprocess
import sys
import threading
import time

import pytest
import whet
import whet.nn.functional as F
from whet import nn
from whet.autograd import modes
from whet.cpu import native
from whet.ops import pointwise_family, registry
from whet.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)


def names(p):
    return [e.name for e in p.events()]


def make_step():
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))
    opt = whet.optim.SGD(model.parameters(), lr=0.1)

    def step(x, y):
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        return loss
    return model, step


@pytest.mark.parametrize("calls", (1, 3))        # without a recipe, and with one
def test_ops_are_named_once_each_in_the_order_in_which_they_run(calls):
    a = whet.randn(5, 5)
    with profile() as p:
        for _ in range(calls):
            (a @ a).exp().sum(0)
    assert names(p) == ["matmul", "exp", "sum"] * calls


def test_results_and_gradients_are_those_of_an_unprofiled_run():
    def run():
        whet.manual_seed(0)
        model, step = make_step()
        x, y = whet.randn(16, 8), whet.randint(4, (16,))
        losses = [step(x, y).item() for _ in range(4)]
        return losses, [p.detach().numpy().tobytes() for p in model.parameters()]
    before = run()
    with profile(record_shapes=True, with_stack=True, with_modules=True, profile_memory=True):
        during = run()
    assert before == during == run()


def test_nothing_of_a_profiler_stays():
    a = whet.randn(4)
    a.exp()
    was = (registry.execute, pointwise_family.inplace_now, native.launch, modes.set_native_flags)
    with profile() as p:
        a.exp()
    assert was == (registry.execute, pointwise_family.inplace_now, native.launch,
                   modes.set_native_flags)
    a.exp()
    assert names(p) == ["exp"]
    with pytest.raises(ZeroDivisionError), profile():
        raise ZeroDivisionError
    assert was == (registry.execute, pointwise_family.inplace_now, native.launch,
                   modes.set_native_flags)


def test_tensors_are_not_kept_alive():
    import weakref
    with profile(record_shapes=True, profile_memory=True, with_stack=True, with_modules=True):
        t = whet.randn(3) * 2
        seen = weakref.ref(t)
        del t
        gc.collect()
        assert seen() is None


def test_shapes_bytes_and_operations():
    a, b = whet.randn(3, 4), whet.randn(4, 5)
    with profile(record_shapes=True, profile_memory=True, with_flops=True) as p:
        a @ b
        a.t()
        a.add_(1.0)
    product, view, write = p.events()
    assert product.input_shapes == [[3, 4], [4, 5]]
    assert product.cpu_memory_usage == 3 * 5 * 4 and product.flops == 2 * 3 * 4 * 5
    assert view.cpu_memory_usage == 0 and view.flops == 0
    assert write.name == "add_" and write.input_shapes[0] == [3, 4]
    text = p.key_averages(group_by_input_shape=True).table()
    assert "Input Shapes" in text and "Total FLOPs" in text and "60 b" in text


def test_lines_and_modules_of_the_users():
    class Doubled(nn.Module):
        def forward(self, x):
            return x * 2                         # this line
    model = nn.Sequential(Doubled())
    line = Doubled.forward.__code__.co_firstlineno + 1
    with profile(with_stack=True, with_modules=True) as p:
        model(whet.ones(3))
    e = p.events()[-1]
    assert e.name == "mul" and e.module == "Sequential.Doubled"
    assert e.stack[0].endswith(f"test_profiler.py({line}): forward")
    assert any("test_lines_and_modules" in s for s in e.stack[1:])
    assert "Source Location" in p.key_averages(group_by_stack_n=1).table()


def test_a_span_has_what_ran_within_it():
    @record_function("decorated")
    def double(x):
        return x + x
    a = whet.ones(3)
    with profile() as p:
        with record_function("outer"):
            double(a)
            a.exp()
    outer, inner, add, exp = p.events()
    assert [e.name for e in outer.cpu_children] == ["decorated", "exp"]
    assert add.cpu_parent is inner and inner.cpu_parent is outer is exp.cpu_parent
    within = inner.cpu_time_total + exp.cpu_time_total
    assert abs(outer.self_cpu_time_total - (outer.cpu_time_total - within)) < 1e-6
    assert double(a).tolist() == [2, 2, 2]       # with no profiler on, a span is nothing


def test_other_threads_are_seen():
    a = whet.ones(3)

    def work():
        for _ in range(50):
            a.exp()
    with profile() as p:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads:
            t.start()
        work()
        for t in threads:
            t.join()
    assert names(p).count("exp") == 200
    assert len({e.thread for e in p.events()}) >= 2      # idents are used again


@pytest.mark.parametrize("mode", ("no_grad", "vmap", "hooks", "inference"))
def test_ops_in_a_mode_are_seen(mode):
    a = whet.ones(2, 3, requires_grad=mode == "hooks")
    with profile() as p:
        if mode == "no_grad":
            with whet.no_grad():
                a.exp()
        elif mode == "inference":
            with whet.inference_mode():
                a.exp()
        elif mode == "vmap":
            whet.vmap(lambda x: x.exp())(a)
        else:
            with whet.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
                a.exp()
    assert names(p).count("exp") == 1


@pytest.mark.parametrize("kernels", (True, False))
def test_replays_of_a_traced_step(kernels):
    whet.manual_seed(0)
    model, step = make_step()
    traced = whet.jit.trace(step)
    x, y = whet.randn(16, 8), whet.randint(4, (16,))
    for _ in range(6):
        traced(x, y)
    before = sum(map(len, traced._table.values()))
    with profile(kernels=kernels) as p:
        losses = [traced(x, y).item() for _ in range(4)]
    assert sum(map(len, traced._table.values())) == before
    whet.manual_seed(0)
    model, step = make_step()
    x, y = whet.randn(16, 8), whet.randint(4, (16,))
    assert [step(x, y).item() for _ in range(10)][6:] == losses
    found = names(p)
    assert found.count("replay") == 4
    assert sum(n.startswith("traced step") for n in found) == 4
    assert ("linear_relu" in found) == kernels
    if kernels:
        e = next(e for e in p.events() if e.name == "linear_relu")
        assert e.kind == "kernel" and "test_profiler.py" in e.stack[0]
        assert e.cpu_parent.name == "replay"


def test_a_first_traced_call_is_a_recording_with_its_ops_in_it():
    f = whet.jit.trace(lambda a: (a.exp() * 2).sum())
    a = whet.randn(7)
    with profile() as p:
        want = f(a)
    assert f(a) == want
    record = next(e for e in p.events() if e.kind == "record")
    assert [e.name for e in record.cpu_children if e.kind == "op"][:3] == ["exp", "mul", "sum"]


def test_a_data_dependent_miss_under_a_profiler_is_eagers():
    @whet.jit.trace
    def f(a):
        a += 1
        return a * 2 if a.sum() > 10 else a * 3
    def plain(a):
        a += 1
        return a * 2 if a.sum() > 10 else a * 3
    for start in (0.0, 0.0, 0.0):
        f(whet.full((4,), start))
    with profile():
        for start in (0.0, 5.0, 0.0, 5.0, 5.0):
            x, y = whet.full((4,), start), whet.full((4,), start)
            assert f(x).tolist() == plain(y).tolist() and x.tolist() == y.tolist()


def test_the_sum_over_ops_is_about_the_time_of_a_busy_loop():
    # long enough that a slow machine's Python is little of it
    a = whet.randn(800, 800)
    a @ a

    def share_of_the_ops():
        with profile() as p:
            start = time.perf_counter()
            for _ in range(8):
                a @ a
            took = (time.perf_counter() - start) * 1e6
        return p.self_cpu_time_total / took

    # others may take the processor meanwhile: the best of some
    shares = [share_of_the_ops() for _ in range(12)]
    assert 0.97 < max(shares) <= 1.0


def test_the_trace_file_has_the_format_of_trace_events(tmp_path):
    _, step = make_step()
    x, y = whet.randn(16, 8), whet.randint(4, (16,))
    with profile(record_shapes=True, with_stack=True, profile_memory=True) as p:
        with record_function("a \"quoted\" name"):
            step(x, y)
    p.add_metadata("note", "text")
    for name in ("t.json", "t.json.gz"):
        path = tmp_path / name
        p.export_chrome_trace(path)
        if name.endswith("gz"):
            import gzip
            trace = json.loads(gzip.decompress(path.read_bytes()))
        else:
            trace = json.loads(path.read_text())
        assert trace["note"] == "text" and trace["displayTimeUnit"] in ("ms", "ns")
        spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
        assert len(spans) == len(p.events())
        for e in trace["traceEvents"]:
            assert e["ph"] in ("X", "M") and type(e["name"]) is str
            assert type(e["pid"]) is int and type(e["tid"]) is int
        for e in spans:
            assert type(e["cat"]) is str and type(e["args"]) is dict
            assert e["dur"] >= 0 and e["ts"] >= 0
        ends: list = []
        for e in sorted(spans, key=lambda e: (e["ts"], -e["dur"])):     # they nest, as a stack
            while ends and ends[-1] <= e["ts"]:
                ends.pop()
            assert not ends or e["ts"] + e["dur"] <= ends[-1] + 1e-6
            ends.append(e["ts"] + e["dur"])


def test_steps_go_by_the_schedule(tmp_path):
    ready = []

    def on_ready(p):
        ready.append((p.step_num, names(p)))
    a = whet.ones(3)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
                 schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
                 on_trace_ready=on_ready) as p:
        assert p.current_action is ProfilerAction.NONE
        for _ in range(9):
            a.exp()
            p.step()
    (first, seen), (second, again) = ready
    assert (first, second) == (4, 8)
    assert seen.count("exp") == again.count("exp") == 2
    assert "ProfilerStep#2" in seen and "ProfilerStep#3" in seen and "ProfilerStep#6" in again
    with profile(on_trace_ready=tensorboard_trace_handler(str(tmp_path))):
        a.exp()
    assert [f.name.endswith(".pt.trace.json") for f in tmp_path.iterdir()] == [True]


def test_events_are_those_so_far_while_a_profiler_is_on_and_all_of_them_after():
    a = whet.ones(3)
    with profile() as p:
        a.exp()
        assert names(p) == ["exp"]
        a.neg()
        assert names(p) == ["exp", "neg"]
        a.abs()
    assert names(p) == ["exp", "neg", "abs"]


def test_ops_are_seen_where_python_calls_kernels():
    code = ("import whet, whet.jit\n"
            "a = whet.ones(3)\n"
            "with whet.profiler.profile() as p:\n"
            "    a.exp().sum()\n"
            "print([e.name for e in p.events()])")
    out = subprocess.run([sys.executable, "-c", code], env={**os.environ, "WHET_NATIVE": "0"},
                         capture_output=True, text=True, check=True)
    assert out.stdout == "['exp', 'sum']\n"


def test_two_profilers_at_once_are_refused():
    with profile() as p:
        with pytest.raises(RuntimeError, match="one at a time"), profile():
            pass
        whet.ones(3).exp()
    assert names(p) == ["full", "exp"]


def test_pictures_and_stacks(tmp_path):
    import xml.etree.ElementTree as tree
    with profile(with_stack=True) as p, record_function("<outer>"):
        whet.randn(200, 200).exp()
    picture = tree.fromstring(p.flame(tmp_path / "f.svg"))
    assert any("<outer>" in t.text for t in picture.iter("{http://www.w3.org/2000/svg}title"))
    assert (tmp_path / "f.svg").read_text() == p.flame()
    p.export_stacks(tmp_path / "stacks.txt")
    assert "exp" in (tmp_path / "stacks.txt").read_text()


def test_a_table_is_sorted_cut_and_refuses_what_events_do_not_have():
    a = whet.randn(300, 300)
    with profile() as p:
        a @ a
        a.t()
    text = p.key_averages().table(sort_by="cpu_time_total", row_limit=1)
    assert "matmul" in text and "transpose" not in text and "Self CPU time total" in text
    with pytest.raises(ValueError, match="sorted by"):
        p.table(sort_by="beauty")


def test_a_notebook_shows_the_time_and_what_took_most():
    import xml.etree.ElementTree as tree
    a = whet.randn(300, 300)
    with profile(record_shapes=True) as p:
        with record_function("<outer>"):
            a @ a
            a.t()
    page = tree.fromstring(f"<body>{p._repr_html_()}</body>")
    rows = [[cell.text for cell in row] for row in page.iter("tr")]
    assert rows[0][:2] == ["Name", "Self CPU %"] and len(rows) == 4
    assert {row[0] for row in rows[1:]} == {"<outer>", "matmul", "transpose"}
    # the figures are those of the text
    assert rows[1][1:] == p.table().splitlines()[3].split()[1:]
    assert page.find(".//{http://www.w3.org/2000/svg}title") is not None
