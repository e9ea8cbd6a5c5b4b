"""---
title: The live preview
summary: Serves the site, builds it again when a source changes, and makes the open page reload.
---
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

from facing.catalogue.translator import open_translator
from facing.config import Config
from facing.model import FacingError, Page, Profile, Translator
from facing.pages.build import Built, build
from facing.pages.kept import Kept
from facing.pages.site import read_site
from facing.run.pages import Later

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".xml": "application/xml",
    ".txt": "text/plain; charset=utf-8",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}


@dataclass
class Remembering:
    """A profile that reads a file again only if it has changed."""

    profile: Profile
    known: dict[Path, tuple[int, Page]] = field(default_factory=dict)

    def read(self, path: Path, root: Path) -> Page:
        time = path.stat().st_mtime_ns
        if path not in self.known or self.known[path][0] != time:
            self.known[path] = (time, self.profile.read(path, root))
        return self.known[path][1]


@dataclass
class Workshop:
    """Builds a site again and again, and makes anew only what has changed: a page that is read, a catalogue, a page that is written.

    Pages that run show their last results until there is time to run them.
    """

    source: Path
    config: Config
    profile: InitVar[Profile]
    places: dict[str, Path] = field(default_factory=dict)
    later: Later = field(default_factory=Later)
    kept: Kept = field(default_factory=Kept)
    opened: dict[str, tuple[dict[Path, int], Translator]] = field(default_factory=dict)

    def __post_init__(self, profile: Profile) -> None:
        self.remembering = Remembering(profile)

    def make(self) -> Built:
        """Build the site as it is now."""
        site = read_site(self.source, self.config, self.remembering, self.later)
        return build(site, [self.translator(each) for each in self.places], live=True, kept=self.kept)

    def translator(self, language: str) -> Translator:
        """Open the catalogue of a language, again if one of its files has changed."""
        now = state([self.places[language]])
        if language not in self.opened or self.opened[language][0] != now:
            self.opened[language] = (now, open_translator(language, self.places[language]))
        return self.opened[language][1]


@dataclass
class Preview:
    """The latest good build, and the error of the sources as they are now."""

    make: Callable[[], Built]
    later: Later = field(default_factory=Later)
    built: Built = field(default_factory=lambda: Built({}, ()))
    version: int = 0
    error: str = ""
    late_error: str = ""

    def refresh(self) -> None:
        """Build again. Pages of a source with an error stay as they were, and the error is shown above them."""
        try:
            built = self.make()
        except (FacingError, OSError) as error:
            self.error = str(error)
            return
        self.error = self.late_error
        if built.files != self.built.files:
            self.built, self.version = built, self.version + 1

    def watch(self, folders: list[Path], stop: threading.Event, every: float = 0.5) -> None:
        """Refresh whenever a file below one of the folders, or one of the files, changes; between changes, do what can wait."""
        seen = state(folders)
        while not stop.wait(every):
            now = state(folders)
            if now != seen:
                seen, self.late_error = now, ""
                self.later.failed.clear()
                self.refresh()
            else:
                self.catch_up()

    def catch_up(self) -> None:
        """Run one of the pages that wait for it, and show its results or its error."""
        try:
            if self.later.run_one():
                self.refresh()
        except (FacingError, OSError) as error:
            self.error = self.late_error = str(error)

    def answer(self, path: str) -> tuple[bytes, str] | None:
        """Give the bytes and the type of a path, None where there is nothing."""
        name = unquote(urlsplit(path).path).lstrip("/")
        if name == "_facing/version.json":
            return json.dumps({"version": self.version, "error": self.error}).encode(), "application/json"
        for candidate in (name, f"{name.rstrip('/')}/index.html".lstrip("/")):
            if candidate in self.built.files:
                return self.built.files[candidate], TYPES.get(Path(candidate).suffix, "application/octet-stream")
        return None


def state(paths: list[Path]) -> dict[Path, int]:
    """Give the time of every source and catalogue."""
    found: dict[Path, int] = {}
    for path in paths:
        files = path.rglob("*") if path.is_dir() else [path]
        for file in files:
            if file.suffix in (".py", ".md", ".json", ".toml", ".png", ".svg", ".jpg"):
                try:
                    found[file] = file.stat().st_mtime_ns
                except OSError:
                    continue
    return found


def server(preview: Preview, host: str, port: int) -> ThreadingHTTPServer:
    """Make the server; it answers from memory and writes nothing."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = preview.answer(self.path)
            body, kind = found or ((preview.error or "Nothing is here.").encode(), "text/plain; charset=utf-8")
            self.send_response(200 if found else 404)
            if not found and preview.error:
                # Nothing could be built yet; the page asks again until the source is mended.
                self.send_header("Refresh", "1")
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            return

    return ThreadingHTTPServer((host, port), Handler)
