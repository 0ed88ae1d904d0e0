"""muster's Python side: it finds the `sm` program of the same wheel and asks it."""

__version__ = "0.1.0"
