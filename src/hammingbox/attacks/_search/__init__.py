"""What several attacks share: the best point so far, moves, walks and surrogate models."""
