"""Training: one loop for all defences, its state on disk, its cost, and the jobs that write checkpoints."""
