"""Loops over plain arrays, compiled by numba; each is tested against a slow twin. They import nothing else of rwkplus."""
