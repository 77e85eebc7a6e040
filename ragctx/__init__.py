"""ragctx puts the right documentation in front of a language model that writes code for an API it barely knows."""

__version__ = "0.1.0"
