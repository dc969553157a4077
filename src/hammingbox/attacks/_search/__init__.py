"""Shared parts of the attacks: the best points so far, moves, beams, tabu search, surrogate models and ascents."""
