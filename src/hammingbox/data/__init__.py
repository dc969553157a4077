"""Data sets as category ids with a schema."""
