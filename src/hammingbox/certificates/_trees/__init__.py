"""What the exact search over tree ensembles is made of."""
