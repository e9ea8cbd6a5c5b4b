"""The strategies of the engine blockwise, the definition last: it computes every call."""

from headwise.engines.strategies.base import Strategy
from headwise.engines.strategies.definition import Definition
from headwise.engines.strategies.rectangles import Rectangles
from headwise.engines.strategies.rows import Rows
from headwise.engines.strategies.softcap import SoftcapTiles

STRATEGIES: tuple[Strategy, ...] = (Rectangles(), Rows(), SoftcapTiles(), Definition())
