"""---
title: The command line
summary: "`facing build` writes a site, `facing serve` shows one while it is written; the others are for translators."
---
Each command imports what it needs when it runs, so that `facing --help` answers at once.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from facing.model import FacingError, worst

if TYPE_CHECKING:
    from collections.abc import Sequence

    from facing.catalogue.translator import CatalogueTranslator
    from facing.config import Config
    from facing.model import Profile


# A language names a folder of the site, so it must look like one: `si`, `zh-Hant`.
LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")


@dataclass(frozen=True)
class Common:
    """What `build` and `serve` share."""

    source: Annotated[Path | None, tyro.conf.Positional] = None
    """A source file or a folder of them; by default the `root` of the configuration, else this folder."""
    profile: Literal["modern", "classic"] | None = None
    """How sources are read: `modern` (CommonMark) or `classic` (the format of existing tutorials)."""
    catalogue: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    """A language and its catalogue, a file or a folder: `--catalogue si=translations/si`. May be repeated."""
    language: str | None = None
    """The language of the notes."""
    name: str | None = None
    """The name of the site."""
    repository: str | None = None
    """What `{repository}` stands for in addresses: `owner/name`."""
    run_pages: Annotated[tyro.conf.FlagCreatePairsOff[bool], tyro.conf.arg(name="run")] = False
    """Run pages with `run: true`. They can do whatever you can: only for sources that you trust."""
    no_run: tyro.conf.FlagCreatePairsOff[bool] = False
    """Run no page, whatever the configuration says."""
    config: Path | None = None
    """The configuration; by default `facing.toml`, or `[tool.facing]` in `pyproject.toml`."""

    def load(self) -> tuple[Path, Config]:
        """Give the source and the configuration, with what the command line says put over it."""
        from facing.config import load

        config = load(Path(), self.config)
        names = ("profile", "language", "name", "repository")
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        config = replace(config, **given)
        config = replace(config, run=(config.run or self.run_pages) and not self.no_run)
        return self.source or config.base / (config.root or "."), config

    def places(self, config: Config) -> dict[str, Path]:
        """Give the catalogue of each language."""
        found = {language: config.base / path for language, path in config.catalogues.items()}
        for each in self.catalogue:
            language, equals, path = each.partition("=")
            if not (LANGUAGE.fullmatch(language) and equals and path):
                raise FacingError(
                    f"--catalogue must be a language and a path. It is `{each}`; write --catalogue si=translations/si."
                )
            found[language] = Path(path)
        return found


@dataclass(frozen=True)
class Build(Common):
    """Write the site."""

    out: Path | None = None
    """The folder to write to; by default `site`."""
    url: str | None = None
    """The address of the site: canonical links become absolute, and there is a sitemap."""
    strict: bool = False
    """Fail, and write nothing, if anything is reported: a broken link, an unknown command, a missing alternative text."""

    def run(self) -> int:
        from facing.pages.build import build
        from facing.pages.site import read_site

        source, config = self.load()
        config = config if self.url is None else replace(config, url=self.url)
        opened = translators(self.places(config))
        built = build(read_site(source, config, find_profile(config)), opened)
        built = replace(built, findings=(*(finding for each in opened for finding in each.findings), *built.findings))
        failed = self.strict and worst(built.findings) in ("error", "warning")
        gone = [] if failed else built.write(self.out or config.base / config.out, source)
        for finding in built.findings:
            print(finding, file=sys.stderr)
        pages = sum(path.endswith(".html") for path in built.files)
        taken = f", {len(gone)} files of an earlier build taken away" if gone else ""
        print(
            f"{pages} pages {'not ' if failed else ''}written{taken}, {len(built.findings)} findings", file=sys.stderr
        )
        return 1 if failed else 0


@dataclass(frozen=True)
class Serve(Common):
    """Show the site and keep it up to date while sources and catalogues change."""

    host: str = "127.0.0.1"
    port: int = 8000

    def run(self) -> int:
        import threading

        from facing.pages.sources import roots
        from facing.serve import Preview, Workshop, server

        source, config = self.load()
        workshop = Workshop(source, config, find_profile(config), self.places(config))
        preview = Preview(workshop.make, workshop.later)
        # A large site, or one whose pages run, takes a while the first time: say that something happens.
        print("building the pages ...", file=sys.stderr)
        preview.refresh()
        print(preview.error or f"http://{self.host}:{self.port}/", file=sys.stderr)
        stop = threading.Event()
        watched = [*(root.folder for root in roots(source, config)), *self.places(config).values()]
        threading.Thread(target=preview.watch, args=(watched, stop), daemon=True).start()
        try:
            server(preview, self.host, self.port).serve_forever()
        except OSError as error:
            raise FacingError(
                f"The address must be free. {self.host}:{self.port} is not ({error.strerror}); choose another --port."
            ) from None
        except KeyboardInterrupt:
            stop.set()
        return 0


def find_profile(config: Config) -> Profile:
    """Give the profile of this name; each is imported only when asked for."""
    if config.profile == "classic":
        from facing.classic import Classic

        return Classic()
    if config.profile == "modern":
        from facing.source import Modern

        return Modern()
    raise FacingError(f"The profile must be modern or classic. It is `{config.profile}`.")


def translators(places: dict[str, Path]) -> list[CatalogueTranslator]:
    """Open the catalogues of each language."""
    if not places:
        return []
    from facing.catalogue.translator import open_translator

    return [open_translator(language, path) for language, path in places.items()]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command. A source or setting that is wrong ends it with one message and status 2."""
    from facing.catalogue.cli import Commands

    command = tyro.cli(
        Build | Serve | Commands,
        prog="facing",
        description="Annotated source as facing pages.",
        args=arguments,
    )
    try:
        status = command.run()
    except FacingError as error:
        print(f"facing: {error}", file=sys.stderr)
        status = 2
    except BrokenPipeError:
        # The reader of a pipe, such as `head`, has seen enough; Python must not try to write the rest at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    sys.exit(status)
