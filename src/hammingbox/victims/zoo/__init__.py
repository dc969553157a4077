"""The models that come with the package, one file per model."""
