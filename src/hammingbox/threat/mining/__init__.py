"""Finds rules that the rows of a table keep: candidates on a sample, then checked on all rows."""
