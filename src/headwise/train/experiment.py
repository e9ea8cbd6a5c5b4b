"""
---
title: A training from beginning to end
summary: What `headwise train` does, in the order in which it happens.
---

# A training from beginning to end

Everything that can be wrong with the input is found before the run folder is made, so that a refused command leaves nothing behind.
"""

import dataclasses
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from torch import Tensor, nn

from headwise.generation.stream import Sampling, write
from headwise.train.baselines import Baselines
from headwise.train.build import build_model, placed
from headwise.train.checkpoint import Restored
from headwise.train.choose_tokenizer import Tokenizer
from headwise.train.config import RunConfig
from headwise.train.loop import Training, fit
from headwise.train.material import Material
from headwise.train.observer import Observer, Report, Result
from headwise.train.pace import Pace, peak_of_products
from headwise.train.patience import Patience
from headwise.train.plan import make_plan
from headwise.train.processes import ALONE, Processes, joined
from headwise.train.progress import Screen
from headwise.train.run_folder import ReadOnlyFolder, RunFolder
from headwise.train.settled import check_settled, settled, settled_of_run
from headwise.train.threads import ThreadChoice, asked_for, measured
from headwise.train.tokenizer import TokenizerError
from headwise.train.trackers import Tracker, flat, make_trackers, settings_of


@dataclass(frozen=True)
class Experiment:
    """What came out of a training."""

    run: Path
    result: Result
    baselines: Baselines
    tokens_per_character: float
    threads: int
    first: bool = True


def run_experiment(config: RunConfig, *, run: Path | None = None, console: Console | None = None) -> Experiment:
    """Trains as the settings say and writes a new run folder: `run`, or the next free one below `runs`."""
    config.check()
    # A tracker whose package is missing is refused before anything is written.
    make_trackers(config.train.track, Path())
    with joined(config.train) as processes:
        parts = Parts.of(config, processes)
        folder = processes.from_first(lambda: _begin(config, parts, run))
        return _train(config, parts, folder, console, resume=False)


def resume_experiment(run: Path, *, console: Console | None = None) -> Experiment | None:
    """Goes on with the run in a folder, as its settings say; None if it is finished, and then nothing is changed."""
    folder = RunFolder.open(run)
    config = folder.read_config()
    newest = folder.checkpoints.newest()
    check_settled(newest.settings, settled(config.train) | settled_of_run(config))
    waited = Patience(config.train.patience, waited=int(newest.counters.get("waited", 0)))
    if newest.step >= config.train.steps or waited.over:
        return None
    with joined(config.train) as processes:
        parts = Parts.of(config, processes, folder.read_tokenizer())
        folder.check_digest(parts.material.survey.digest, config.data)
        return _train(config, parts, folder, console, resume=True)


def _begin(config: RunConfig, parts: "Parts", run: Path | None) -> RunFolder:
    folder = RunFolder.create(run, name=parts.material.corpus.name)
    folder.claim()
    folder.write_tokenizer(parts.material.tokenizer)
    folder.write_digest(parts.material.survey.digest)
    # The settings come last: a folder that has them is a run, and can be resumed.
    folder.write_config(config)
    return folder


@dataclass(frozen=True, eq=False)
class Parts:
    """Everything that follows from the settings alone."""

    material: Material
    baselines: Baselines
    model: nn.Module
    choice: ThreadChoice | None
    processes: Processes = ALONE

    @classmethod
    def of(cls, config: RunConfig, processes: Processes = ALONE, stored: Tokenizer | None = None) -> "Parts":
        """Reads the text and builds the model."""
        # Until a measurement has chosen the number of threads, one is the safe number.
        choice = asked_for(config.train.threads)
        if choice is None and processes.world > 1:
            # A measurement would end differently in each process. They share the cores, so one thread is enough.
            choice = ThreadChoice(1, "one for each process")
        torch.set_num_threads(choice.threads if choice else 1)
        with processes.one_after_the_first():
            material = Material.of(config, stored)
            baselines = material.baselines(config)
        model = build_model(config.model, vocab=material.tokenizer.vocab, seed=config.train.seed, processes=processes)
        model = placed(model, config.train.device, processes)
        return cls(material, baselines, model, choice, processes)


def _train(config: RunConfig, parts: Parts, folder: RunFolder, console: Console | None, *, resume: bool) -> Experiment:
    if not parts.processes.first:
        # Only the first process writes; the others would write the same.
        folder, console = ReadOnlyFolder(folder.path), Console(file=io.StringIO())
    folder = dataclasses.replace(folder, settings=settled_of_run(config))
    screen = Screen(
        console or Console(highlight=False),
        steps=config.train.steps,
        scale=parts.material.tokens_per_character,
        per_byte=parts.material.tokens_per_byte,
    )
    _introduce(screen, folder, parts, config)
    narrator = Narrator(screen, folder, config, parts)
    try:
        result = fit(
            parts.model,
            parts.material.data,
            config.train,
            run=folder,
            observer=narrator,
            d_model=config.model.d_model,
            resume=resume,
            processes=parts.processes,
        )
    finally:
        screen.stop_bar()
        narrator.end()
    _conclude(screen, folder, result)
    return Experiment(
        folder.path,
        result,
        parts.baselines,
        parts.material.tokens_per_character,
        torch.get_num_threads(),
        parts.processes.first,
    )


class Narrator(Observer):
    """Tells a training to the screen and to the run folder."""

    def __init__(self, screen: Screen, folder: RunFolder, config: RunConfig, parts: Parts) -> None:
        self.screen, self.folder, self.config, self.parts = screen, folder, config, parts
        self.trackers = make_trackers(config.train.track, folder.path) if parts.processes.first else []
        self.begun: list[Tracker] = []
        self.step = 0

    def restored(self, restored: Restored) -> None:
        for name in restored.damaged:
            self.screen.fact("damaged", f"{name} is torn or changed; the checkpoint before it is taken")
        for name in restored.shorter:
            self.screen.fact("damaged", f"{name} is shorter than at this step, and what was lost there stays lost")
        step = self.step = restored.state.step
        self.screen.fact(
            "resumed", f"after step {step}" if step else "at the beginning, because there is no checkpoint yet"
        )

    def started(self, training: Training) -> None:
        """Chooses the number of threads before the first update, so that all updates are made with the same number."""
        choice = self.parts.choice or measured(training.passes_without_update)
        torch.set_num_threads(choice.threads)
        self.folder.write_config(
            dataclasses.replace(self.config, train=dataclasses.replace(self.config.train, threads=choice.threads))
        )
        self.screen.fact("threads", f"{choice.threads} ({choice.reason})")
        self.screen.pace = self._pace()
        self.screen.header(self.parts.baselines)
        self.screen.start_bar()

    def _pace(self) -> Pace:
        peak = peak_of_products() * self.parts.processes.world
        plan = make_plan(self.config, vocab=self.parts.material.tokenizer.vocab, rate=lambda config: peak)
        return Pace(tokens_per_update=plan.tokens_per_update, flops_per_token=plan.flops_per_token, peak=peak)

    def logged(self, entry: dict[str, Any]) -> None:
        for tracker in self.trackers:
            if tracker not in self.begun:
                tracker.begin(self.folder.path.resolve().name, settings_of(self.config), self.step)
                self.begun.append(tracker)
            tracker.numbers(entry["step"], flat(entry))

    def end(self) -> None:
        """Lets the trackers write what is left."""
        for tracker in self.begun:
            tracker.end()

    def updated(self, step: int, loss: float) -> None:
        self.screen.advance(step, loss)

    def reported(self, report: Report) -> None:
        if report.step == 0:
            self.screen.untrained(report)
        else:
            self.screen.report(report, self.parts.baselines)

    def _prompt(self) -> Tensor:
        """The beginning of a sample, or whatever the validation text begins with where the tokenizer cannot write it."""
        try:
            tokens = self.parts.material.tokenizer.encode(self.config.train.prompt)
        except TokenizerError:
            return self.parts.material.data.beginning(1)
        return tokens if len(tokens) else self.parts.material.data.beginning(1)

    def sample(self, step: int) -> None:
        """Lets the model write."""
        if self.config.train.sample_length == 0:
            return
        prompt = self._prompt()[None].to(next(self.parts.model.parameters()).device)
        sampling = Sampling(temperature=0.8, seed=self.config.train.seed + step)
        tokens = write(
            self.parts.model,
            prompt,
            count=self.config.train.sample_length,
            sampling=sampling,
            context=self.config.model.context,
        )
        text = self.parts.material.tokenizer.decode(tokens[0])
        self.folder.append_sample(step, text)
        for tracker in self.begun:
            tracker.sample(step, text)
        self.screen.sample(step, text)


def _introduce(screen: Screen, folder: RunFolder, parts: Parts, config: RunConfig) -> None:
    material, shape, train = parts.material, config.model, config.train
    facts, data = material.survey, material.data
    documents = f"{len(facts.sizes):,} documents, " if len(facts.sizes) > 1 else ""
    parameters = sum(each.numel() for each in parts.model.parameters())
    screen.fact("run", str(folder.path))
    screen.fact(
        "text",
        f"{material.corpus.name}: {documents}{facts.characters:,} characters, {len(facts.alphabet)} different ones",
    )
    screen.fact("tokens", f"{config.tokenizer}, {material.tokenizer.vocab} different ones")
    screen.fact("split", f"{len(data.training):,} tokens for training, {len(data.validation):,} for validation")
    screen.fact("model", f"{shape.layers} layers, {shape.d_model} wide, {shape.heads} heads, {parameters:,} parameters")
    screen.fact(
        "training",
        f"{train.steps:,} steps of {train.batch} rows of {shape.context} characters, {train.schedule} schedule, seed {train.seed}",
    )


def _conclude(screen: Screen, folder: RunFolder, result: Result) -> None:
    if result.out_of_patience:
        screen.line(f"Stopped after step {result.step}, because the validation loss has not become better.")
    if result.stopped_by is not None:
        screen.line(f"Stopped on request after step {result.step}; everything up to there is saved.")
        screen.line(f"Go on:              headwise train --run {folder.path} --resume")
    if screen.pace is not None and screen.pace.words():
        peak = f"{screen.pace.peak / 1e9:.0f} GFLOP/s in large products of matrices, timed at the beginning"
        screen.fact("pace", f"{screen.pace.words()} (peak: {peak})")
    screen.line(f"Let it write more:  headwise sample {folder.path}")
