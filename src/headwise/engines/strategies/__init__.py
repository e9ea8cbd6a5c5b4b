"""The strategies of the engine blockwise in order of speed; the last one computes every call."""

from headwise.engines.strategies.base import Strategy
from headwise.engines.strategies.body import Body
from headwise.engines.strategies.rectangles import Rectangles
from headwise.engines.strategies.rows import Rows
from headwise.engines.strategies.softcap import SoftcapTiles

STRATEGIES: tuple[Strategy, ...] = (Rectangles(), Rows(), SoftcapTiles(), Body())
