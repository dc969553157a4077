"""Training: one loop for every defence, its state on disk and its cost."""
