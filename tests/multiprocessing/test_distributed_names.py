"""`whet.distributed` beside its collectives: stores, meshes, collectives with gradients."""
import datetime
import threading

import pytest
import whet
import whet.distributed as dist
from whet.distributed.device_mesh import init_device_mesh
from whet.distributed.nn import functional as with_gradients


@pytest.fixture(autouse=True)
def alone():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_a_store_has_values_by_name():
    store = dist.HashStore()
    store.set("a", "b")
    assert (store.get("a"), store.add("n", 2), store.add("n", 3), store.get("n")) == (
        b"b", 2, 5, b"5")
    assert (store.check(["a", "z"]), store.num_keys()) == (False, 2)
    assert (store.delete_key("a"), store.delete_key("a")) == (True, False)
    changes = ("", "v"), ("v", "w"), ("x", "y")
    assert [store.compare_set("q", *change) for change in changes] == [b"v", b"w", b"w"]
    store.append("q", "!")
    assert store.multi_get(["q", "n"]) == [b"w!", b"5"]
    inner = dist.PrefixStore("in", store)
    inner.set("k", "1")
    assert inner.get("k") == store.get("in/k") == b"1" and inner.add("k", 1) == 2


def test_who_asks_for_a_value_waits_for_it():
    store = dist.HashStore()
    thread = threading.Timer(0.05, store.set, ("late", "here"))
    thread.start()
    assert store.get("late") == b"here"
    thread.join()
    store.set_timeout(datetime.timedelta(milliseconds=10))
    with pytest.raises(dist.DistStoreError, match="Wait timeout"):
        store.get("never")
    assert issubclass(dist.DistStoreError, dist.DistError)


def test_a_mesh_of_one_process():
    mesh = init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "tp"))
    assert repr(mesh) == "DeviceMesh((dp=1, tp=1), 'cpu')"
    assert repr(mesh["dp"]) == "DeviceMesh((dp=1), 'cpu')" and mesh["dp", "tp"] == mesh
    assert (mesh.shape, mesh.size(), mesh.size(1), mesh.ndim) == ((1, 1), 1, 1, 2)
    assert (mesh.get_rank(), mesh.get_local_rank("tp"), mesh.get_coordinate()) == (0, 0, (0, 0))
    assert mesh.get_group("dp") is dist.group.WORLD and len(mesh.get_all_groups()) == 2
    for bad, error, message in (
            (lambda: mesh["x"], KeyError, "Invalid mesh_dim_names"),
            (lambda: mesh.get_group(), RuntimeError, "`mesh_dim` needs to be specified"),
            (lambda: init_device_mesh("cpu", (2,)), RuntimeError, "bigger than default world size"),
            (lambda: init_device_mesh("cpu", (1, 1), mesh_dim_names=("a",)), RuntimeError,
             "same length"),
            (lambda: init_device_mesh("cpu", (1, 1), mesh_dim_names=("a", "a")), RuntimeError,
             "must be unique")):
        with pytest.raises(error, match=message):
            bad()


@pytest.mark.parametrize("call", [
    with_gradients.all_reduce, lambda x: with_gradients.all_gather(x)[0],
    lambda x: with_gradients.reduce(x, 0), lambda x: with_gradients.broadcast(x, 0),
    lambda x: with_gradients.gather(x)[0], lambda x: with_gradients.scatter([x]),
    lambda x: with_gradients.reduce_scatter(whet.empty(2), [x]),
    lambda x: with_gradients.all_to_all([whet.empty(2)], [x])[0],
    lambda x: with_gradients.all_to_all_single(whet.empty(2), x)])
def test_gradients_flow_through_collectives(call):
    x = whet.ones(2, requires_grad=True)
    y = call(x * 2)
    y.sum().backward()
    assert y.tolist() == [2, 2] and x.grad.tolist() == [2, 2]


def test_who_is_asked_for_in_a_group(monkeypatch):
    world = dist.group.WORLD
    assert (dist.get_global_rank(world, 0), dist.get_group_rank(world, 0)) == (0, 0)
    assert dist.get_node_local_rank(3) == 3
    with pytest.raises(RuntimeError, match="LOCAL_RANK is not in the environment"):
        dist.get_node_local_rank()
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert dist.get_node_local_rank() == 1
    assert (dist.Backend("NCCL"), dist.Backend.GLOO) == ("nccl", "gloo")
    assert dist.is_gloo_available() and not dist.is_nccl_available()
    group, groups = dist.new_subgroups(1)
    assert groups == [group]
    with pytest.raises(ValueError, match="must not exceed the world size"):
        dist.new_subgroups(2)
    with pytest.raises(ValueError, match="Invalid ``op``"):
        dist.P2POp(print, whet.ones(1), 0)
    with pytest.raises(ValueError, match="Invalid destination rank"):
        dist.batch_isend_irecv([dist.P2POp(dist.isend, whet.ones(1), 0)])


def test_nothing_is_spread_over_processes():
    from whet.distributed._composable.fsdp import fully_shard
    from whet.distributed.checkpoint.hf_storage import (
        HuggingFaceStorageReader,
        HuggingFaceStorageWriter,
    )
    from whet.distributed.fsdp import FSDPModule, FullyShardedDataParallel
    from whet.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
    from whet.distributed.tensor._utils import compute_local_shape_and_global_offset
    from whet.distributed.tensor.placement_types import _StridedShard
    assert not isinstance(whet.ones(2), DTensor)
    assert not isinstance(whet.nn.Linear(1, 1), (FullyShardedDataParallel, FSDPModule))
    for refused in (lambda: distribute_tensor(whet.ones(2), None, [Shard(0)]),
                    lambda: DTensor.from_local(whet.ones(2), None, [Replicate()]),
                    lambda: FullyShardedDataParallel(whet.nn.Linear(1, 1)),
                    lambda: fully_shard(whet.nn.Linear(1, 1)),
                    lambda: HuggingFaceStorageReader("folder"),
                    lambda: HuggingFaceStorageWriter("folder")):
        with pytest.raises(RuntimeError, match="a group has one"):
            refused()
    places = [Shard(1), Replicate(), Partial(), _StridedShard(0, split_factor=2)]
    assert [p.is_shard() for p in places] == [True, False, False, True]
    assert [p.is_replicate() for p in places] == [False, True, False, False]
    assert [p.is_partial("sum") for p in places] == [False, False, True, False]
    assert compute_local_shape_and_global_offset((4, 2), None, places) == ((4, 2), (0, 0))


def test_collectives_that_give_new_tensors():
    from whet.distributed import _functional_collectives as of_new_tensors
    x = whet.randn(2, 3, requires_grad=True)
    for name, args in (("all_gather_tensor", (0,)), ("reduce_scatter_tensor", ("sum", 1)),
                       ("all_to_all_single_autograd", (None, None)), ("broadcast", (0,)),
                       ("all_reduce", ())):
        y = of_new_tensors.wait_tensor(getattr(of_new_tensors, name)(x * 2, *args))
        assert y.equal(x * 2) and y.requires_grad, name
