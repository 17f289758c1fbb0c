"""Loops over plain arrays, compiled by numba, each tested against a slow twin; they import nothing else of rwkplus."""
