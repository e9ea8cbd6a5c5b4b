"""Two real processes over loopback: they learn as one, any number reads their checkpoints, and a lost one is replaced."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

pytestmark = pytest.mark.slow
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--rdzv-backend", "c10d"]
LAUNCH = [*TORCHRUN, "--rdzv-endpoint", "127.0.0.1:0"]
SHAPE = ["--layers", "2", "--d-model", "16", "--heads", "2", "--context", "16", "--validation-rows", "9"]
STEPS = ["--steps", "20", "--report-every", "5", "--checkpoint-every", "10", "--sample-length", "8"]
LIMIT = 240


def environment(**more):
    return {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", **more}


def headwise(*arguments, processes=2, options=()):
    start = [sys.executable, "-m"] if processes == 1 else [*LAUNCH, *options, "-m", "--"]
    done = subprocess.run(
        [*start, "headwise", "train", *arguments], env=environment(), timeout=LIMIT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    """Trains once for each kind of run, and keeps the folder."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "text.txt").write_text("".join(f"{n} and {n + 1} make {2 * n + 1}.\n" for n in range(400)))
    found = {}

    def once(parallel, *more, processes=2):
        key = "-".join([parallel, str(processes), *more])
        if key not in found:
            path = folder / key
            where = ["--data", str(folder / "text.txt"), "--run", str(path), "--parallel", parallel]
            headwise(*where, *SHAPE, *STEPS, *more, processes=processes)
            found[key] = path
        return found[key]

    return once


def log(path):
    return [json.loads(line) for line in (path / "log.jsonl").read_text().splitlines()]


def assert_same_losses(left, right):
    left, right = log(left), log(right)
    assert [entry["step"] for entry in left] == [entry["step"] for entry in right] == [0, 5, 10, 15, 20]
    for key in ("train_loss", "validation_loss", "gradient_norm"):
        values = [[entry[key] for entry in each if entry[key] is not None] for each in (left, right)]
        assert values[0] == pytest.approx(values[1], rel=1e-5), key


def assert_same_weights(left, right, tolerance=1e-4):
    left, right = (load_file(path / "model.safetensors") for path in (left, right))
    assert left.keys() == right.keys()
    for name, tensor in left.items():
        torch.testing.assert_close(tensor, right[name], rtol=tolerance, atol=tolerance)


# Five rows are shared unequally, and of one row the second process has none.
@pytest.mark.parametrize(
    ("parallel", "batch", "accumulate"),
    [
        pytest.param("ddp", "5", "1", id="ddp-bounded"),
        pytest.param("fsdp", "6", "2", id="fsdp-bounded"),
        pytest.param("fsdp", "1", "1", id="fsdp-one-row"),
    ],
)
def test_two_processes_learn_as_one(train, parallel, batch, accumulate):
    """Case T09: equal steps by construction, and losses of one process."""
    more = ["--batch", batch, "--accumulate", accumulate]
    one, two = train("ddp", *more, processes=1), train(parallel, *more)
    assert_same_losses(one, two)
    assert_same_weights(one, two)
    assert (one / "samples.txt").read_text() == (two / "samples.txt").read_text()


def test_sharded_half_precision_averages_and_checkpoints_as_one_process_does(train, tmp_path):
    more = ["--batch", "6", "--precision", "bfloat16", "--ema", "0.9"]
    one, two = train("ddp", *more, processes=1), train("fsdp", *more)
    losses = [[entry["validation_loss"] for entry in log(path)] for path in (one, two)]
    # Sums in another order round otherwise, by about the spacing of the numbers of half precision.
    assert losses[0] == pytest.approx(losses[1], rel=4e-3)
    again = resumed_from_the_middle(two, tmp_path / "again", processes=1)
    assert log(again)[-1]["validation_loss"] == pytest.approx(losses[1][-1], rel=4e-3)


def test_muon_works_on_whole_matrices_that_are_held_in_parts(train, tmp_path):
    """Clipped, averaged and accumulated, in two processes and in one, and with a change from one number to the other on the way."""
    more = ["--batch", "6", "--accumulate", "2", "--optimizer", "muon", "--ema", "0.9", "--clip", "0.5"]
    one, two = train("fsdp", *more, processes=1), train("fsdp", *more)
    assert_same_losses(one, two)
    assert_same_weights(one, two)
    for before, processes in ((two, 1), (one, 2)):
        after = resumed_from_the_middle(before, tmp_path / str(processes), processes)
        assert_same_losses(one, after)
        assert_same_weights(one, after)


def resumed_from_the_middle(run, folder, processes):
    """A copy of a run whose second half is made again, by another number of processes."""
    shutil.copytree(run, folder)
    shutil.rmtree(folder / "state" / "step-00000020")
    output = headwise("--run", str(folder), "--resume", processes=processes)
    assert "after step 10" in output
    return folder


def test_one_process_goes_on_from_the_shards_of_two(train, tmp_path):
    two = train("fsdp", "--batch", "6", "--accumulate", "2")
    assert (two / "state" / "step-00000010" / "shards" / "__1_0.distcp").is_file()
    one = resumed_from_the_middle(two, tmp_path / "one", processes=1)
    assert_same_losses(two, one)
    assert_same_weights(two, one)


@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
def test_two_processes_go_on_from_the_checkpoint_of_one(train, tmp_path, parallel):
    one = train(parallel, "--batch", "6", "--accumulate", "2", processes=1)
    two = resumed_from_the_middle(one, tmp_path / "two", processes=2)
    assert_same_losses(one, two)
    assert_same_weights(one, two)


def ranks_below(parent):
    """The processes of a launcher by rank, from the environments of its children."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            state = (path / "stat").read_text().rpartition(")")[2].split()
            content = (path / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        rank = [entry.partition(b"=")[2] for entry in content if entry.startswith(b"RANK=")]
        if int(state[1]) == parent and rank and state[0] != "Z":
            found[int(rank[0])] = int(path.name)
    return found


def wait_for(condition):
    until = time.monotonic() + LIMIT
    while not (value := condition()):
        assert time.monotonic() < until, "what was waited for has not come"
        time.sleep(0.05)
    return value


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds the processes in /proc")
@pytest.mark.parametrize("parallel", ["ddp", "fsdp"])
def test_a_lost_process_is_replaced_and_the_job_goes_on(train, tmp_path, parallel):
    """The process is killed behind the first checkpoint; `--max-restarts` starts both again, and no bit differs at the end."""
    steps = ["--steps", "120", "--report-every", "30", "--checkpoint-every", "10", "--sample-length", "0"]
    text = train("ddp", "--batch", "6", "--accumulate", "2", processes=1).parent / "text.txt"
    common = ["--data", str(text), "--parallel", parallel, *SHAPE, *steps]
    headwise(*common, "--run", str(tmp_path / "whole"))
    run = tmp_path / "lost"
    command = [*LAUNCH, "--max-restarts", "1", "-m", "--", "headwise", "train", *common, "--run", str(run)]
    launcher = subprocess.Popen(
        command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        wait_for(lambda: (run / "state" / "step-00000010" / "state.json").is_file())
        os.kill(ranks_below(launcher.pid)[1], signal.SIGKILL)
        errors = launcher.communicate(timeout=LIMIT)[1]
    finally:
        launcher.kill()
    assert launcher.returncode == 0, errors[-3000:]
    whole, lost = log(tmp_path / "whole"), log(run)
    assert [entry["validation_loss"] for entry in lost if "validation_loss" in entry] == [
        entry["validation_loss"] for entry in whole if "validation_loss" in entry
    ]
    assert_same_weights(tmp_path / "whole", run, tolerance=0)


SEES_ITS_TARGETS = """
import torch
import headwise as hw
from headwise.train.config import TrainConfig
from headwise.train.data import TextData
from headwise.train.gradient import TrainingError
from headwise.train.loop import fit
from headwise.train.processes import joined, leave

config = TrainConfig(steps=1, batch=2, parallel="fsdp")
tokens = torch.arange(99) % 9
with joined(config) as processes:
    with torch.device("cpu" if processes.first else "meta"):
        model = hw.AutoregressiveTransformer(9, 8, 2, 1, mask=hw.Full())
    try:
        fit(model, TextData(tokens, tokens, 8), config, processes=processes)
    except TrainingError as error:
        print(f"{processes.rank} is told: {error}", flush=True)
leave(0)
"""


def test_all_processes_refuse_a_model_that_sees_its_targets(tmp_path):
    (tmp_path / "sees.py").write_text(SEES_ITS_TARGETS)
    command = [*LAUNCH, str(tmp_path / "sees.py")]
    done = subprocess.run(command, env=environment(), timeout=LIMIT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    for rank in range(2):
        assert f"{rank} is told: The logits of a place must not depend on later tokens" in done.stdout


def test_a_process_that_hangs_ends_the_others_within_the_time_out(train, tmp_path):
    """Without a launcher nobody replaces it, and nobody waits for ever."""
    text = train("ddp", "--batch", "6", "--accumulate", "2", processes=1).parent / "text.txt"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    run = tmp_path / "run"
    steps = ["--steps", "100000", "--report-every", "100", "--checkpoint-every", "10", "--timeout", "5"]
    command = [sys.executable, "-m", "headwise", "train", "--data", str(text), *SHAPE, *steps, "--run", str(run)]
    started = [
        subprocess.Popen(
            command,
            env=environment(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for rank in range(2)
    ]
    try:
        wait_for(lambda: (run / "state" / "step-00000010" / "state.json").is_file())
        started[1].send_signal(signal.SIGSTOP)
        assert started[0].wait(timeout=LIMIT) != 0
    finally:
        for each in started:
            each.kill()
            each.wait()
