"""Neural networks that come with the package."""
