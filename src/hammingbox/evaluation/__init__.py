"""Measuring: rates with their denominators, checks of an evaluation, and verification of claims."""
