"""Factorisations of square and oblong matrices, and solutions by them: a work unit is a matrix."""
