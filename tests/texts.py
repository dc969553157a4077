"""Moved to text/texts.py; remove with the last old import."""

from text.texts import *  # noqa: F403
