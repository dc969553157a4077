"""Fixtures of all tests of studies."""

from study_toys import no_data_folder, trainer, workspace

__all__ = ["no_data_folder", "trainer", "workspace"]
