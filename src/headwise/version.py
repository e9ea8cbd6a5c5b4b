"""The version, alone in a file that imports nothing: the build and the command line read it."""

__version__ = "0.1.0"
