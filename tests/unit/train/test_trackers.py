"""Trackers: the numbers of the log in other programs, on this machine unless told otherwise."""

import os
import sys
from types import SimpleNamespace

import pytest

from headwise.cli import main
from headwise.train import trackers
from headwise.train.config import RunConfig
from headwise.train.trackers import TRACKERS, CsvTracker, TrackerError, flat, make_trackers, settings_of

SETTINGS = settings_of(RunConfig())


class Recorder:
    """Stands for a package: it keeps every call, and answers with itself."""

    def __init__(self):
        self.calls = []
        self.id = "abc"
        self.info = SimpleNamespace(run_id="abc")

    def __getattr__(self, name):
        def call(*values, **named):
            self.calls.append((name, values, named))
            return self

        return call

    def named(self, name):
        return [(values, named) for called, values, named in self.calls if called == name]


@pytest.fixture
def package(monkeypatch):
    for name in ("WANDB_MODE", "MLFLOW_TRACKING_URI", "TRACKIO_SPACE_ID"):
        monkeypatch.delenv(name, raising=False)

    def installed(name):
        recorder = Recorder()
        monkeypatch.setattr(trackers, "load", lambda module, package: recorder)
        return recorder

    return installed


def tell(tracker, step=0):
    tracker.begin("run", SETTINGS, step)
    tracker.numbers(step + 10, {"train_loss": 2.5, "learning_rate": 0.001})
    tracker.sample(step + 10, "text")
    tracker.end()


def test_a_table_has_one_line_for_each_line_of_the_log_and_is_cut_on_resume(tmp_path):
    tracker = CsvTracker(tmp_path)
    tracker.begin("run", SETTINGS, 0)
    for step in (0, 10, 20):
        tracker.numbers(step, {"train_loss": step / 8, "attention/layers.0/entropy": 1.0})
    CsvTracker(tmp_path).begin("run", SETTINGS, 10)
    assert (tmp_path / "log.csv").read_text().splitlines() == [
        "step,train_loss,validation_loss,gradient_norm,learning_rate,seconds",
        "0,0.0,,,,",
        "10,1.25,,,,",
    ]


def test_wandb_stays_offline_unless_its_variable_says_otherwise(package, tmp_path, monkeypatch):
    recorder = package("wandb")
    tell(TRACKERS["wandb"](tmp_path))
    tell(TRACKERS["wandb"](tmp_path), step=10)
    first, second = (named for _, named in recorder.named("init"))
    assert (first["mode"], first["id"], first["dir"]) == ("offline", None, str(tmp_path))
    assert second["id"] == "abc"
    assert recorder.named("log")[0] == (({"train_loss": 2.5, "learning_rate": 0.001},), {"step": 10})
    monkeypatch.setenv("WANDB_MODE", "online")
    tell(TRACKERS["wandb"](tmp_path))
    assert recorder.named("init")[-1][1]["mode"] == "online"


def test_mlflow_stays_in_the_folder_and_goes_on_with_its_run(package, tmp_path, monkeypatch):
    recorder = package("mlflow")
    tell(TRACKERS["mlflow"](tmp_path))
    assert recorder.named("set_tracking_uri")[0][0] == (f"sqlite:///{tmp_path.resolve()}/mlflow.db",)
    assert len(recorder.named("log_params")) == 1
    tell(TRACKERS["mlflow"](tmp_path), step=10)
    assert recorder.named("start_run")[-1][1]["run_id"] == "abc"
    assert len(recorder.named("log_params")) == 1
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "file:///elsewhere")
    tell(TRACKERS["mlflow"](tmp_path))
    assert recorder.named("set_tracking_uri")[-1][0] == ("file:///elsewhere",)


def test_trackio_stays_here_unless_a_space_is_named(package, tmp_path, monkeypatch):
    recorder = package("trackio")
    tell(TRACKERS["trackio"](tmp_path))
    assert recorder.named("init")[0][1]["space_id"] is None
    monkeypatch.setenv("TRACKIO_SPACE_ID", "me/mine")
    tell(TRACKERS["trackio"](tmp_path))
    assert recorder.named("init")[1][1]["space_id"] == "me/mine"
    assert recorder.named("log")[0] == (({"train_loss": 2.5, "learning_rate": 0.001},), {"step": 10})


def test_tensorboard_gets_curves_and_texts_in_the_run_folder(package, tmp_path):
    recorder = package("tensorboard")
    tell(TRACKERS["tensorboard"](tmp_path), step=10)
    assert recorder.named("SummaryWriter") == [((str(tmp_path / "tensorboard"),), {"purge_step": 11})]
    assert recorder.named("add_scalar")[0] == (("train_loss", 2.5, 20), {})
    # A text is shown as it is, and not as markup.
    assert recorder.named("add_text")[-1] == (("sample", "    text", 20), {})


@pytest.mark.parametrize("name", ["tensorboard", "wandb", "mlflow", "trackio"])
def test_a_missing_package_is_refused_before_anything_is_written(name, monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        TrackerError, match=rf"needs the package {name}\. It is not installed; install headwise\[{name}\]"
    ):
        make_trackers([name], tmp_path)
    assert main(["train", "--track", name, "--run", str(tmp_path / "run")]) == 2
    assert f"headwise[{name}]" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_packages_report_nothing_about_themselves_unless_the_user_says_so(monkeypatch):
    for name in trackers.QUIET:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "true")
    assert trackers.load("json", "json").loads("1") == 1
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true"
    assert os.environ["WANDB_ERROR_REPORTING"] == "true"


def test_numbers_that_are_not_finite_are_left_out():
    assert flat({"step": 1, "train_loss": float("nan"), "validation_loss": 2}) == {"validation_loss": 2.0}
