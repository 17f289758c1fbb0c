"""Compiled loops on arrays: numba, no torch; each has a slow twin in the tests."""
