"""Tree ensembles of other libraries as victims over category ids."""
