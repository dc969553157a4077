"""Victims: the models that are attacked and trained."""
