"""What each machine-learning library says about its models: one file per library, imported only when needed."""
