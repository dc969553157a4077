"""Fixtures of all tests of studies."""

from study_toys import finished_victims, no_data_folder, trainer, workspace

__all__ = ["finished_victims", "no_data_folder", "trainer", "workspace"]
