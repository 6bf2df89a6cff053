"""Device meshes: shapes, names, slices and groups."""

import pytest

import tensorlab as torch
from tensorlab import distributed as dist
from tensorlab.distributed.device_mesh import DeviceMesh, init_device_mesh

spawn = dist.threads.spawn


def two_by_two():
    return init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))


def test_a_grid_of_all_ranks():
    def run(rank):
        mesh = two_by_two()
        assert mesh.mesh.tolist() == [[0, 1], [2, 3]]
        assert mesh.mesh.dtype is torch.int32
        assert (mesh.shape, mesh.ndim, mesh.size(), mesh.size(1)) == ((2, 2), 2, 4, 2)
        assert mesh.device_type == "cpu"
        assert mesh.mesh_dim_names == ("dp", "tp")
        assert mesh.get_rank() == rank
        assert mesh == two_by_two()
        assert hash(mesh) == hash(two_by_two())
        assert mesh != init_device_mesh("cpu", (4,))
        return mesh.get_coordinate(), mesh.get_local_rank("tp"), mesh.get_local_rank(0)

    assert spawn(run, nprocs=4) == [((0, 0), 0, 0), ((0, 1), 1, 0), ((1, 0), 0, 1), ((1, 1), 1, 1)]


def test_groups_along_dimensions_exchange():
    def run(rank):
        mesh = two_by_two()
        x, y = torch.tensor([rank]), torch.tensor([rank])
        dist.all_reduce(x, group=mesh.get_group("dp"))
        dist.all_reduce(y, group=mesh.get_group(1))
        assert [one.size() for one in mesh.get_all_groups()] == [2, 2]
        return x.item(), y.item()

    assert spawn(run, nprocs=4) == [(2, 1), (4, 1), (2, 5), (4, 5)]


def test_slices_share_the_groups():
    def run(rank):
        mesh = two_by_two()
        row = mesh["tp"]
        assert row.get_group() is mesh.get_group("tp")
        assert mesh["dp", "tp"] is mesh
        turned = mesh["tp", "dp"]
        assert turned.shape == (2, 2)
        assert turned.get_coordinate() == tuple(reversed(mesh.get_coordinate()))
        assert row["tp"] is row
        return row.mesh.tolist(), repr(row), repr(turned)

    texts = (
        "DeviceMesh((tp=2), 'cpu', stride=(1,))",
        "DeviceMesh((tp=2, dp=2), 'cpu', stride=(1, 2))",
    )
    assert spawn(run, nprocs=4)[2] == ([2, 3], *texts)


def test_three_dimensions_and_one_made_of_two():
    def run(rank):
        mesh = init_device_mesh("cpu", (2, 1, 2), mesh_dim_names=("a", "b", "c"))
        flat = mesh["a", "c"]._flatten("ac")
        assert mesh["ac"] is flat
        assert flat.mesh.tolist() == [0, 1, 2, 3]
        assert mesh._flatten().mesh_dim_names == ("a_b_c",)
        with pytest.raises(ValueError, match="is a dimension of"):
            mesh._flatten("a")
        x = torch.ones(1)
        dist.all_reduce(x, group=flat.get_group())
        return x.item(), repr(mesh)

    text = "DeviceMesh((a=2, b=1, c=2), 'cpu', stride=(2, (), 1))"
    assert spawn(run, nprocs=4) == [(4.0, text)] * 4


def test_a_mesh_of_some_ranks():
    def run(rank):
        mesh = DeviceMesh("cpu", torch.tensor([2, 0]))
        if rank == 1:
            with pytest.raises(RuntimeError, match="not in"):
                mesh.get_group()
            with pytest.raises(RuntimeError, match="not in"):
                mesh.get_local_rank()
            return None
        return mesh.get_local_rank(), mesh.get_group().ranks

    assert spawn(run, nprocs=3) == [(1, (2, 0)), None, (0, (2, 0))]


def test_from_groups():
    def run(rank):
        mesh = two_by_two()
        one = DeviceMesh.from_group(dist.group.WORLD, "cpu")
        two = DeviceMesh.from_group(
            mesh.get_all_groups(), "cpu", mesh.mesh, mesh_dim_names=("dp", "tp")
        )
        assert two == mesh
        with pytest.raises(ValueError, match="Must pass mesh"):
            DeviceMesh.from_group(mesh.get_all_groups(), "cpu")
        with pytest.raises(ValueError, match="number of ProcessGroups"):
            DeviceMesh.from_group(mesh.get_group(0), "cpu", mesh.mesh)
        with pytest.raises(ValueError, match="at least one"):
            DeviceMesh.from_group([], "cpu")
        return one.mesh.tolist()

    assert spawn(run, nprocs=4)[3] == [0, 1, 2, 3]


def test_the_mesh_of_a_block():
    from tensorlab.distributed.tensor import zeros

    def run(rank):
        with pytest.raises(RuntimeError, match="No device mesh is currently active"):
            zeros(2)
        with init_device_mesh("cpu", (2,)) as mesh:
            return zeros(2).device_mesh is mesh

    assert spawn(run, nprocs=2) == [True, True]


def test_what_is_refused():
    def run(rank):
        mesh, plain = two_by_two(), init_device_mesh("cpu", (4,))
        refused = [
            (lambda: mesh["x"], KeyError, "Invalid mesh_dim_names"),
            (lambda: mesh["dp", "dp"], KeyError, "Invalid mesh_dim_names"),
            (lambda: plain["dp"], RuntimeError, "without mesh_dim_names"),
            (lambda: plain._flatten(), RuntimeError, "without mesh_dim_names"),
            (lambda: mesh.get_group(), RuntimeError, "Optional kwarg `mesh_dim` needs"),
            (lambda: mesh.get_local_rank(), RuntimeError, "Optional kwarg `mesh_dim` needs"),
            (lambda: mesh.get_group("x"), KeyError, "does not exist"),
            (lambda: mesh.size(5), IndexError, "no dimension 5"),
            (lambda: init_device_mesh("cpu", (5,)), RuntimeError, "bigger than default world"),
            (lambda: init_device_mesh("cpu", (0,)), RuntimeError, "without ranks"),
            (lambda: init_device_mesh("cpu:0", (4,)), RuntimeError, "with index"),
            (lambda: init_device_mesh("cuda", (4,)), RuntimeError, "ranks work on the cpu"),
            (lambda: init_device_mesh(3, (4,)), TypeError, "expected 'cpu'"),
            (lambda: DeviceMesh("cpu"), TypeError, "is missing"),
            (lambda: DeviceMesh("cpu", [0, 0]), RuntimeError, "a rank twice"),
            (lambda: DeviceMesh("cpu", [0, 7]), RuntimeError, "isn't there"),
            (
                lambda: init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "a")),
                RuntimeError,
                "must be unique",
            ),
            (
                lambda: init_device_mesh("cpu", (2, 2), mesh_dim_names=("a",)),
                RuntimeError,
                "same length",
            ),
        ]
        for call, error, text in refused:
            with pytest.raises(error, match=text):
                call()

    spawn(run, nprocs=4)
