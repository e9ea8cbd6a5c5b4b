"""What several processes need, seen from one: equal shares, and one that writes. `test_torchrun.py` starts real ones."""

import pytest
import torch

from headwise.mask.documents import Documents
from headwise.train import processes as module
from headwise.train.batch import NO_TARGET, Batch
from headwise.train.build import build_model
from headwise.train.config import ConfigError, ModelConfig, RunConfig, TrainConfig
from headwise.train.loss import accumulate_gradients
from headwise.train.processes import ALONE, Processes, joined, launched, restarted, start_of_job
from headwise.train.run_folder import ReadOnlyFolder
from headwise.train.share import filled, share_of


def batch_of(rows, *, packed=False):
    inputs = torch.arange(rows * 4).view(rows, 4) % 5
    mask = Documents(torch.tensor([[0, 0, 1, 1]]).repeat(rows, 1)) if packed else None
    return Batch(inputs, (inputs + 1) % 5, mask, torch.arange(4).repeat(rows, 1) if packed else None)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 5, 6])
def test_shares_have_equal_rows_and_all_targets_once(rows, packed):
    """Case T09: processes with unequal batches would wait for each other for ever."""
    batch = batch_of(rows, packed=packed)
    shares = [share_of(batch, Processes(rank, 4)) for rank in range(4)]
    assert len({len(share.inputs) for share in shares}) == 1
    assert sum(share.count for share in shares) == batch.count
    targets = torch.cat([share.targets for share in shares])
    assert torch.equal(targets[:rows], batch.targets)
    assert (targets[rows:] == NO_TARGET).all()
    if packed:
        assert all(len(share.mask.ids) == len(share.positions) == len(share.inputs) for share in shares)


def test_the_shares_of_a_batch_give_its_gradient(pairs):
    """Case T01 across processes: the mean over tokens, whatever the shares."""
    model, batch = pairs(5), batch_of(5)
    loss = accumulate_gradients(model, batch)
    whole = model.mix.weight.grad.clone()
    model.zero_grad()
    # PyTorch takes the mean of the gradients of the processes; here it is taken by hand.
    count, parts = batch.count, []
    for rank in range(3):
        share = share_of(batch, Processes(rank, 3))
        logits = model(share.inputs)
        summed = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), share.targets.flatten(), ignore_index=NO_TARGET, reduction="sum"
        )
        parts.append(summed / (count / 3))
        (parts[-1] / 3).backward()
    torch.testing.assert_close(model.mix.weight.grad, whole, rtol=1e-5, atol=1e-7)
    assert sum(part.item() for part in parts) / 3 == pytest.approx(float(loss), rel=1e-6)


def test_a_full_batch_stays_as_it_is():
    batch = batch_of(4)
    assert filled(batch, 4) is batch
    assert share_of(batch, ALONE) is batch


def test_one_process_asks_nobody():
    assert ALONE.sum(1.0, 2.5) == [1.0, 2.5]
    assert ALONE.any(True) and not ALONE.any(False)
    assert ALONE.from_first(lambda: 3) == 3
    assert not Processes(0, 1, "fsdp").sharded and Processes(0, 2, "fsdp").sharded
    with ALONE.one_after_the_first():
        ALONE.wait()
    with joined(TrainConfig()) as processes:
        assert processes is ALONE


def test_the_environment_says_whether_there_are_others(monkeypatch):
    assert not launched() and not restarted()
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    assert launched() and not restarted()
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert restarted()


def test_errors_of_the_first_process_are_errors_of_all(monkeypatch):
    def broken():
        raise ConfigError("It must work. Got nothing.")

    sent = []
    monkeypatch.setattr(module.dist, "broadcast_object_list", lambda box, src: sent.append(box[0]))
    with pytest.raises(ConfigError, match="It must work"):
        Processes(0, 2).from_first(broken)
    assert isinstance(sent[0], ConfigError)


def test_only_the_first_process_draws_weights():
    shape = ModelConfig(layers=1, d_model=8, heads=2)
    drawn = build_model(shape, vocab=5, seed=1, processes=Processes(0, 2))
    waiting = build_model(shape, vocab=5, seed=1, processes=Processes(1, 2))
    assert not any(each.is_meta for each in drawn.parameters())
    assert all(each.is_meta for each in waiting.parameters())


def test_other_processes_write_nothing(model, tmp_path):
    folder = ReadOnlyFolder(tmp_path)
    folder.write_config(RunConfig())
    folder.write_model(model)
    folder.append_log({"step": 1})
    folder.append_sample(1, "text")
    folder.cut(0, 0)
    assert folder.sizes_on_disk() == (0, 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("processes", "here", "restarts", "name"),
    [("2", "2", "0", "start 0"), ("2", "2", "1", "start 1"), ("4", "2", "1", "start"), ("2", None, None, "start")],
    ids=["first-start", "restart", "two-machines", "no-launcher"],
)
def test_addresses_of_an_earlier_start_are_not_found_again(monkeypatch, processes, here, restarts, name):
    values = {"WORLD_SIZE": processes, "LOCAL_WORLD_SIZE": here, "TORCHELASTIC_RESTART_COUNT": restarts}
    for key, value in values.items():
        monkeypatch.delenv(key, raising=False)
        if value is not None:
            monkeypatch.setenv(key, value)
    assert start_of_job() == name


@pytest.mark.parametrize(
    ("variable", "value"), [("WORLD_SIZE", "two"), ("RANK", "-1"), ("TORCHELASTIC_RESTART_COUNT", "")]
)
def test_a_variable_of_torchrun_that_is_no_number_is_refused(monkeypatch, variable, value):
    for name in ("WORLD_SIZE", "RANK", "TORCHELASTIC_RESTART_COUNT"):
        monkeypatch.setenv(name, value if name == variable else "2")
    with pytest.raises(ConfigError, match=f"{variable} must be a whole number, as `torchrun` sets it"):
        restarted()
