"""save_model and load_model: of tensors that share memory, the file holds one."""

import pytest

import tensorlab
from tensorlab import nn, safetensors
from tensorlab.errors import DeviceError, MemoryLayoutError, NoDataError
from tests.oracle import require_torch


def tied(T=tensorlab):
    """Return a model whose decoder has the weight of its embedding."""
    T.manual_seed(0)
    model = T.nn.ModuleDict({"out": T.nn.Linear(3, 5, bias=False), "emb": T.nn.Embedding(5, 3)})
    model["norm"] = T.nn.BatchNorm1d(3)
    model["out"].weight = model["emb"].weight
    return model


def state(model):
    return {name: x.tolist() for name, x in model.state_dict().items()}


def test_a_tied_model_comes_back_tied(tmp_path):
    model, other = tied(), tied()
    path = tmp_path / "x.safetensors"
    assert safetensors.save_model(model, path) is None
    assert "out.weight" not in safetensors.load_file(path)
    with safetensors.safe_open(path) as file:
        assert file.metadata() == {"out.weight": "emb.weight"}
    with tensorlab.no_grad():
        for x in other.state_dict().values():
            x.zero_()
    assert safetensors.load_model(other, path) == ([], [])
    assert state(other) == state(model)
    assert other["out"].weight is other["emb"].weight


def test_metadata_of_the_caller_stays(tmp_path):
    given = {"unit": "m", "out.weight": "mine"}
    safetensors.save_model(tied(), tmp_path / "x", given)
    with safetensors.safe_open(tmp_path / "x") as file:
        assert file.metadata() == {"unit": "m", "out.weight": "mine"}
    given = {"unit": "m"}
    safetensors.save_model(tied(), tmp_path / "x", given)
    assert given == {"unit": "m"}
    with safetensors.safe_open(tmp_path / "x") as file:
        assert file.metadata() == {"unit": "m", "out.weight": "emb.weight"}
    safetensors.save_model(nn.Linear(2, 2), tmp_path / "x")
    with safetensors.safe_open(tmp_path / "x") as file:
        assert file.metadata() is None


def test_the_other_name_of_a_shared_tensor_is_read_too(tmp_path):
    model = tied()
    kept = {name: x.clone() for name, x in model.state_dict().items() if name != "emb.weight"}
    kept["out.weight"].fill_(3.0)
    safetensors.save_file(kept, tmp_path / "x")
    assert safetensors.load_model(model, tmp_path / "x") == ([], [])
    assert model["emb"].weight.tolist() == [[3.0] * 3] * 5


def test_names_that_do_not_fit(tmp_path):
    safetensors.save_file({"weight": tensorlab.ones(2, 2), "b": tensorlab.ones(1)}, tmp_path / "x")
    model = nn.Linear(2, 2)
    message = "x does not fit Linear. Missing in the file: 'bias'. Unexpected in the file: 'b'. str"
    with pytest.raises(RuntimeError, match=f"^load_model: .*{message}"):
        safetensors.load_model(model, tmp_path / "x")
    assert safetensors.load_model(model, tmp_path / "x", strict=False) == (["bias"], ["b"])
    assert model.weight.tolist() == [[1, 1], [1, 1]]
    with pytest.raises(RuntimeError, match="Linear. Unexpected in the file: 'b'. strict=False"):
        safetensors.load_model(nn.Linear(2, 2, bias=False), tmp_path / "x")
    safetensors.save_file({"weight": tensorlab.ones(2, 2)}, tmp_path / "x")
    with pytest.raises(RuntimeError, match="Linear. Missing in the file: 'bias'. strict=False"):
        safetensors.load_model(nn.Linear(2, 2), tmp_path / "x")


def test_a_file_with_both_names_is_no_surprise_only_for_one(tmp_path):
    """As in PyTorch: a name that shares memory and is in the file all the same is unexpected."""
    model = tied()
    both = {name: x.clone() for name, x in model.state_dict().items()}
    safetensors.save_file(both, tmp_path / "x")
    assert safetensors.load_model(model, tmp_path / "x", strict=False) == ([], ["out.weight"])


class Parts(nn.Module):
    """Buffers that are made by a function from one tensor."""

    def __init__(self, make):
        super().__init__()
        for name, x in make(tensorlab.arange(12.0)).items():
            self.register_buffer(name, x)


def test_what_covers_the_others_stands_for_them(tmp_path):
    model = Parts(lambda x: {"a": x[2:4], "b": x[1:7], "c": x[3:7], "d": x[7:9], "e": x[1:7]})
    safetensors.save_model(model, tmp_path / "x")
    found = safetensors.load_file(tmp_path / "x")
    assert {name: x.tolist() for name, x in found.items()} == {
        "b": [1, 2, 3, 4, 5, 6],
        "d": [7, 8],
    }
    with safetensors.safe_open(tmp_path / "x") as file:
        assert file.metadata() == dict.fromkeys("ace", "b")
    other = Parts(lambda x: {"a": x[2:4], "b": x[1:7], "c": x[3:7], "d": x[7:9], "e": x[1:7]})
    other.b.zero_()
    assert safetensors.load_model(other, tmp_path / "x") == ([], [])
    assert state(other) == state(model)


def test_where_none_covers_the_others_nothing_is_saved(tmp_path):
    model = Parts(lambda x: {"b": x[:4], "a": x[3:6]})
    with pytest.raises(MemoryLayoutError, match="save_model: 'a', 'b' share memory, and none cov"):
        safetensors.save_model(model, tmp_path / "x")
    safetensors.save_file({"a": tensorlab.ones(3)}, tmp_path / "x")
    with pytest.raises(MemoryLayoutError, match="load_model: 'a', 'b' share memory"):
        safetensors.load_model(model, tmp_path / "x")


def test_arguments_of_load_file(tmp_path):
    model = nn.Linear(2, 2)
    safetensors.save_model(model, tmp_path / "x")
    with pytest.raises(DeviceError, match="'cuda' is an accelerator"):
        safetensors.load_model(model, tmp_path / "x", device="cuda")
    with pytest.raises(ValueError, match="backend is 'x'; expected 'mmap' or 'pread'"):
        safetensors.load_model(model, tmp_path / "x", backend="x")
    assert safetensors.load_model(model, tmp_path / "x", True, "cpu", backend="pread") == ([], [])


def test_a_model_without_data_is_refused(tmp_path):
    with pytest.raises(NoDataError, match="save_file: 'weight' lies on the device 'meta'"):
        safetensors.save_model(nn.Linear(2, 2, device="meta"), tmp_path / "x")


def test_parameters_without_data_share_nothing(tmp_path):
    safetensors.save_file({"weight": tensorlab.ones(2, 2)}, tmp_path / "x")
    model = nn.Linear(2, 2, device="meta")
    with pytest.warns(UserWarning, match="weight is on 'meta', where values cannot be copied to"):
        found = safetensors.load_model(model, tmp_path / "x", strict=False)
    assert found == (["bias"], [])


def test_gaps_are_closed_unless_that_is_refused(tmp_path):
    model = Parts(lambda x: {"a": x.reshape(3, 4).t()})
    safetensors.save_model(model, tmp_path / "x")
    assert safetensors.load_file(tmp_path / "x")["a"].tolist() == model.a.tolist()
    with pytest.raises(ValueError, match="save_file: 'a' is not contiguous"):
        safetensors.save_model(model, tmp_path / "x", force_contiguous=False)


def test_pytorch_reads_it_and_the_other_way_round(tmp_path):
    torch = require_torch()
    theirs = pytest.importorskip("safetensors.torch")
    ours_model, their_model = tied(), tied(torch)
    safetensors.save_model(ours_model, tmp_path / "ours")
    missing, unexpected = theirs.load_model(their_model, tmp_path / "ours")
    assert (list(missing), list(unexpected)) == ([], [])
    assert state(their_model) == state(ours_model)
    with torch.no_grad():
        their_model["emb"].weight.mul_(2)
    theirs.save_model(their_model, tmp_path / "theirs")
    assert safetensors.load_model(ours_model, tmp_path / "theirs") == ([], [])
    assert state(their_model) == state(ours_model)
    safetensors.save_model(ours_model, tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
