"""The classic profile: the format of existing annotated tutorials."""

from facing.classic.reader import Classic as Classic
