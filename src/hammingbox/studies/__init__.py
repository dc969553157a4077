"""The engine of tables and figures: grids of runs, plans, recipes of victims and statistics."""
