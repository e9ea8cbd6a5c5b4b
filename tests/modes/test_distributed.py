"""Two processes train one model by DistributedDataParallel: every parameter is used, and the gradients are those of one process."""

import pytest
import torch
from torch import distributed, multiprocessing, nn

import headwise as hw
from headwise.train.processes import leave

OPTIONS = {
    "plain": {},
    "t5 and grouped": {"score": hw.T5Bias, "kv_heads": 2, "position": None},
    "sink, biased": {"score": hw.Sink, "bias": True, "norm": "layer", "tied": False},
}


def make(options):
    torch.manual_seed(0)
    return hw.AutoregressiveTransformer(11, 16, 4, 2, **OPTIONS[options]).double()


def loss_of(model, tokens):
    logits = model(tokens[:, :-1])
    return nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


def train(rank, file, options, tokens, results):
    distributed.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    # A parameter that is not used would raise in the second step.
    model = nn.parallel.DistributedDataParallel(make(options))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss_of(model, tokens[rank::2]).backward()
        optimizer.step()
    if rank == 0:
        torch.save(model.module.state_dict(), results)
    distributed.destroy_process_group()
    leave(0)


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS)
def test_two_processes_learn_what_one_learns_and_use_every_parameter(options, tmp_path):
    tokens = torch.randint(0, 11, (4, 9))
    results = tmp_path / "weights.pt"
    multiprocessing.spawn(train, (tmp_path / "meeting", options, tokens, results), nprocs=2)
    model = make(options)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss_of(model, tokens).backward()
        optimizer.step()
    found = torch.load(results)
    for name, weight in model.state_dict().items():
        torch.testing.assert_close(found[name], weight, atol=1e-10, rtol=0)
