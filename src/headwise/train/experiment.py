"""
---
title: A training from beginning to end
summary: What `headwise train` does, in the order in which it happens.
---

# A training from beginning to end

Everything that can be wrong with the input is found before the run folder is made, so that a refused command leaves nothing behind.
"""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.console import Console
from torch import nn

from headwise.generation.stream import Sampling, write
from headwise.train.baselines import Baselines
from headwise.train.build import build_model
from headwise.train.config import RunConfig
from headwise.train.corpus import Corpus, read_corpus
from headwise.train.data import TextData
from headwise.train.loop import Observer, Report, Result, Training, fit
from headwise.train.progress import Screen
from headwise.train.run_folder import RunFolder
from headwise.train.threads import ThreadChoice, asked_for, measured
from headwise.train.tokenizer import CharacterTokenizer


@dataclass(frozen=True)
class Experiment:
    """What came out of a training."""

    run: Path
    result: Result
    baselines: Baselines
    threads: int


def run_experiment(config: RunConfig, *, run: Path | None = None, console: Console | None = None) -> Experiment:
    """Trains as the settings say and writes the run folder: `run`, or a new one below `runs`."""
    config.check()
    # ## 1. Threads
    # Until a measurement has chosen, one thread is the safe number.
    choice = asked_for(config.train.threads)
    torch.set_num_threads(choice.threads if choice else 1)
    # ## 2. Text
    corpus = read_corpus(config.data)
    tokenizer = CharacterTokenizer.of(corpus.text)
    data = TextData.of(corpus, tokenizer, context=config.model.context, seed=config.train.seed)
    validation = data.validation_batches(rows=config.train.batch, limit=config.train.validation_rows)
    baselines = Baselines.of(data.training, validation, vocab=tokenizer.vocab)
    # ## 3. Model
    model = build_model(config.model, vocab=tokenizer.vocab, seed=config.train.seed)
    # ## 4. Folder
    folder = RunFolder.create(run, name=corpus.name)
    folder.write_config(config)
    folder.write_tokenizer(tokenizer)
    # ## 5. Training
    screen = Screen(console or Console(highlight=False), steps=config.train.steps)
    _introduce(screen, folder, corpus, data, model, config)
    observer = Narrator(screen, folder, config, tokenizer, model, baselines, choice)
    try:
        result = fit(model, data, config.train, run=folder, observer=observer, d_model=config.model.d_model)
    finally:
        screen.stop_bar()
    _conclude(screen, folder, result)
    return Experiment(folder.path, result, baselines, torch.get_num_threads())


class Narrator(Observer):
    """Tells a training to the screen and to the run folder."""

    def __init__(
        self,
        screen: Screen,
        folder: RunFolder,
        config: RunConfig,
        tokenizer: CharacterTokenizer,
        model: nn.Module,
        baselines: Baselines,
        choice: ThreadChoice | None,
    ) -> None:
        self.screen, self.folder, self.config = screen, folder, config
        self.tokenizer, self.model, self.baselines, self.choice = tokenizer, model, baselines, choice

    def started(self, training: Training) -> None:
        """Chooses the number of threads before the first update, so that all updates are made with the same number."""
        choice = self.choice or measured(training.passes_without_update)
        torch.set_num_threads(choice.threads)
        self.folder.write_config(
            dataclasses.replace(self.config, train=dataclasses.replace(self.config.train, threads=choice.threads))
        )
        self.screen.fact("threads", f"{choice.threads} ({choice.reason})")
        self.screen.header(self.baselines)
        self.screen.start_bar()

    def updated(self, step: int, loss: float) -> None:
        self.screen.advance(step, loss)

    def reported(self, report: Report) -> None:
        if report.step == 0:
            self.screen.untrained(report)
        else:
            self.screen.report(report, self.baselines)

    def sample(self, step: int) -> None:
        """Lets the model write from an empty line on."""
        if self.config.train.sample_length == 0:
            return
        start = "\n" if "\n" in self.tokenizer.alphabet else self.tokenizer.alphabet[0]
        prompt = self.tokenizer.encode(start)[None]
        sampling = Sampling(temperature=0.8, seed=self.config.train.seed + step)
        tokens = write(
            self.model,
            prompt,
            count=self.config.train.sample_length,
            sampling=sampling,
            context=self.config.model.context,
        )
        text = self.tokenizer.decode(tokens[0, 1:])
        self.folder.append_sample(step, text)
        self.screen.sample(step, text)


def _introduce(
    screen: Screen, folder: RunFolder, corpus: Corpus, data: TextData, model: nn.Module, config: RunConfig
) -> None:
    documents = f"{len(corpus.documents)} documents, " if len(corpus.documents) > 1 else ""
    parameters = sum(each.numel() for each in model.parameters())
    shape, train = config.model, config.train
    screen.fact("run", str(folder.path))
    screen.fact(
        "text", f"{corpus.name}: {documents}{len(corpus.text):,} characters, {len(set(corpus.text))} different ones"
    )
    screen.fact("split", f"{len(data.training):,} characters for training, {len(data.validation):,} for validation")
    screen.fact("model", f"{shape.layers} layers, {shape.d_model} wide, {shape.heads} heads, {parameters:,} parameters")
    screen.fact(
        "training",
        f"{train.steps:,} steps of {train.batch} rows of {shape.context} characters, {train.schedule} schedule, seed {train.seed}",
    )


def _conclude(screen: Screen, folder: RunFolder, result: Result) -> None:
    if result.stopped_by is not None:
        screen.line(f"Stopped on request after step {result.step}; everything up to there is saved in {folder.path}.")
    screen.line(f"Let it write more:  headwise sample {folder.path}")
