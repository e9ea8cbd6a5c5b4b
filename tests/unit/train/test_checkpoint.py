"""Files that are whole or absent, and a training that goes on as if nothing had happened."""

import json

import pytest
import torch
from safetensors.torch import load_file

from headwise.train.checkpoint import (
    CheckpointError,
    Checkpoints,
    load_weights,
    save_weights,
    weights_of,
    write_file,
    write_text,
)
from headwise.train.config import TrainConfig
from headwise.train.optimizer import build_optimizer


def trained(model, steps=3):
    optimizer = build_optimizer(model, TrainConfig())
    for step in range(steps):
        torch.manual_seed(step)
        optimizer.zero_grad()
        model(torch.randint(5, (2, 6))).square().mean().backward()
        optimizer.step()
    return optimizer


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
    assert set(load_file(tmp_path / "model.safetensors")) == {"embedding.weight", "norm.weight", "norm.bias"}


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


def test_a_checkpoint_restores_weights_and_moments(model, pairs, tokenizer, tmp_path):
    optimizer = trained(model)
    Checkpoints(tmp_path / "state").save(model, optimizer, step=3)
    other = pairs(tokenizer.vocab)
    restored = build_optimizer(other, TrainConfig())
    assert Checkpoints(tmp_path / "state").restore(other, restored) == 3
    for mine, theirs in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(mine, theirs)
        for key in ("exp_avg", "exp_avg_sq", "step"):
            assert torch.equal(optimizer.state[mine][key], restored.state[theirs][key])


def test_the_last_two_checkpoints_are_kept(model, tmp_path):
    checkpoints = Checkpoints(tmp_path / "state")
    optimizer = trained(model, 1)
    for step in (1, 2, 3, 10):
        checkpoints.save(model, optimizer, step=step)
    assert sorted(each.name for each in (tmp_path / "state").iterdir()) == ["step-00000003", "step-00000010"]


def test_a_damaged_checkpoint_is_stepped_back_over(model, tmp_path):
    checkpoints = Checkpoints(tmp_path / "state")
    optimizer = trained(model, 1)
    checkpoints.save(model, optimizer, step=1)
    checkpoints.save(model, optimizer, step=2)
    damaged = tmp_path / "state" / "step-00000002" / "optimizer.safetensors"
    content = bytearray(damaged.read_bytes())
    content[-1] ^= 1
    damaged.write_bytes(content)
    assert checkpoints.restore(model, optimizer) == 1


@pytest.mark.parametrize("state", ["", "{}", json.dumps({"step": 2, "sha256": {"model.safetensors": "0"}})])
def test_without_a_whole_checkpoint_there_is_nothing_to_restore(model, tmp_path, state):
    optimizer = trained(model, 1)
    checkpoints = Checkpoints(tmp_path / "state")
    assert checkpoints.restore(model, optimizer) == 0
    checkpoints.save(model, optimizer, step=2)
    (tmp_path / "state" / "step-00000002" / "state.json").write_text(state)
    assert checkpoints.restore(model, optimizer) == 0
