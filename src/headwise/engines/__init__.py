"""The engines by name, in the order in which they are listed and, at equal cost, preferred."""

from headwise.engines.base import Engine
from headwise.engines.blockwise import Blockwise
from headwise.engines.reference import Reference
from headwise.engines.sdpa import Sdpa

ENGINES: dict[str, Engine] = {engine.name: engine for engine in (Sdpa(), Blockwise(), Reference())}
