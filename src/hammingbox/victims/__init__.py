"""Victims: what is attacked and trained."""
