"""Data sets: rows of category ids and the schema that says what they mean."""
