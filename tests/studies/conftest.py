"""Fixtures of all tests of studies."""

from toys.studies import finished_victims, no_data_folder, trainer, workspace

__all__ = ["finished_victims", "no_data_folder", "trainer", "workspace"]
