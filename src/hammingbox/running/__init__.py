"""Runs: what to attack as a value, who executes it, and where its records go."""
