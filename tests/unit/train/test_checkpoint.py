"""Files that are whole or absent, and a training that goes on as if nothing had happened."""

import json

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from headwise.train import weights
from headwise.train.checkpoint import CheckpointError, Checkpoints, Restored, State
from headwise.train.config import TrainConfig
from headwise.train.optimizer import build_optimizers
from headwise.train.safe_files import write_file, write_text
from headwise.train.weights import load_weights, save_weights, weights_of


def trained(model, steps=3, kind="adamw"):
    optimizers = build_optimizers(model, TrainConfig(optimizer=kind))
    for step in range(steps):
        torch.manual_seed(step)
        model.zero_grad()
        model(torch.randint(5, (2, 6))).square().mean().backward()
        for optimizer in optimizers:
            optimizer.step()
    return optimizers


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "file.txt"
    write_text(path, "old")

    def fail(temporary):
        temporary.write_text("half")
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        write_file(path, fail)
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["file.txt"]


def test_tied_weights_are_stored_once(model, tmp_path):
    save_weights(model, tmp_path / "model.safetensors")
    assert set(load_file(tmp_path / "model.safetensors")) == {
        "embedding.weight",
        "mix.weight",
        "norm.weight",
        "norm.bias",
    }


def test_weights_read_back_equal(model, pairs, tokenizer, tmp_path):
    save_weights(model, tmp_path / "model.safetensors")
    other = pairs(tokenizer.vocab)
    load_weights(other, tmp_path / "model.safetensors")
    for name, tensor in weights_of(model).items():
        assert torch.equal(tensor, weights_of(other)[name])
    assert other.generator.weight is other.embedding.weight


def test_weights_of_another_model_are_refused(model, pairs, tokenizer, tmp_path):
    path = tmp_path / "model.safetensors"
    save_weights(model, path)
    with pytest.raises(CheckpointError, match=r"embedding\.weight \[\d+, 8\] for \[\d+, 4\]"):
        load_weights(pairs(tokenizer.vocab, width=4), path)
    with pytest.raises(CheckpointError, match=r"lacks \['bias', 'weight'\] and has \['embedding\.weight'"):
        load_weights(torch.nn.Linear(2, 2), path)


@pytest.mark.parametrize("content", [None, b"", b"not a model"])
def test_missing_or_damaged_weights_are_refused(model, tmp_path, content):
    path = tmp_path / "model.safetensors"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CheckpointError, match="readable weights"):
        load_weights(model, path)


@pytest.mark.parametrize(("kind", "keys"), [("adamw", {"exp_avg", "exp_avg_sq", "step"}), ("muon", {"average"})])
def test_a_checkpoint_restores_weights_and_moments(kind, keys, tmp_path):
    def build():
        return torch.nn.Sequential(torch.nn.Embedding(5, 4), torch.nn.Linear(4, 3))

    model, other = build(), build()
    optimizers = trained(model, kind=kind)
    state = State(3, (0.1, 0.2), 7, 8, 1.5)
    Checkpoints(tmp_path / "state").save(model, optimizers, state)
    restored = build_optimizers(other, TrainConfig(optimizer=kind))
    assert Checkpoints(tmp_path / "state").restore(other, restored) == Restored(state, ())
    for mine, theirs in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(mine, theirs)
        for before, after in zip(optimizers, restored, strict=True):
            assert before.state[mine].keys() == after.state[theirs].keys()
            assert all(torch.equal(value, after.state[theirs][key]) for key, value in before.state[mine].items())
    assert keys == set(optimizers[0].state[model[1].weight])


def test_the_last_two_checkpoints_are_kept(model, tmp_path):
    checkpoints = Checkpoints(tmp_path / "state")
    optimizer = trained(model, 1)
    for step in (1, 2, 3, 10):
        checkpoints.save(model, optimizer, State(step))
    assert sorted(each.name for each in (tmp_path / "state").iterdir()) == ["step-00000003", "step-00000010"]


def test_a_damaged_checkpoint_is_stepped_back_over(model, tmp_path):
    checkpoints = Checkpoints(tmp_path / "state")
    optimizer = trained(model, 1)
    checkpoints.save(model, optimizer, State(1))
    checkpoints.save(model, optimizer, State(2))
    damaged = tmp_path / "state" / "step-00000002" / "optimizer.safetensors"
    content = bytearray(damaged.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    assert checkpoints.restore(model, optimizer) == Restored(State(1), ("step-00000002",))
    assert checkpoints.newest() == State(1)


@pytest.mark.parametrize("state", ["", "{}", json.dumps({"step": 2, "sha256": {"model.safetensors": "0"}})])
def test_without_a_whole_checkpoint_there_is_nothing_to_restore(model, tmp_path, state):
    optimizer = trained(model, 1)
    checkpoints = Checkpoints(tmp_path / "state")
    assert checkpoints.restore(model, optimizer) == Restored(State(0), ())
    checkpoints.save(model, optimizer, State(2))
    (tmp_path / "state" / "step-00000002" / "state.json").write_text(state)
    assert checkpoints.restore(model, optimizer) == Restored(State(0), ("step-00000002",))
    assert checkpoints.newest() == State(0)


def test_the_best_checkpoint_is_kept_besides(model, tmp_path):
    checkpoints = Checkpoints(tmp_path / "state")
    optimizer = trained(model, 1)
    for step, loss in enumerate([3.0, 1.0, 2.0, 2.5, 1.5, None], start=1):
        checkpoints.save(model, optimizer, State(step, validation_loss=loss))
    assert sorted(each.name[-1] for each in (tmp_path / "state").iterdir()) == ["2", "5", "6"]


def test_a_damaged_checkpoint_is_written_anew(model, tmp_path):
    checkpoints = Checkpoints(tmp_path / "state")
    optimizer = trained(model, 1)
    checkpoints.save(model, optimizer, State(1))
    (tmp_path / "state" / "step-00000001" / "model.safetensors").write_bytes(b"")
    checkpoints.save(model, optimizer, State(1))
    assert checkpoints.newest() == State(1)


def test_a_full_disk_is_one_message_and_leaves_the_earlier_checkpoint(model, tmp_path, monkeypatch):
    checkpoints = Checkpoints(tmp_path / "state")
    optimizer = trained(model, 1)
    checkpoints.save(model, optimizer, State(1))

    def full(tensors, path):
        path.write_bytes(b"half")
        # What safetensors raises on a disk that is full: no OSError.
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(weights, "save_file", full)
    with pytest.raises(
        CheckpointError,
        match=r"checkpoint of step 2 must be written.*No space left on device.*; step-00000001 is whole",
    ):
        checkpoints.save(model, optimizer, State(2))
    assert [each.name for each in (tmp_path / "state").iterdir()] == ["step-00000001"]
    assert checkpoints.newest() == State(1)


def test_weights_that_do_not_fit_on_the_disk_are_one_message_and_leave_the_old_ones(model, tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    save_weights(model, path)
    before = path.read_bytes()

    def full(tensors, path):
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(weights, "save_file", full)
    with pytest.raises(
        CheckpointError, match=r"weights must be written.*No space left on device.*what was there is whole"
    ):
        save_weights(model, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
