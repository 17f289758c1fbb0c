"""Compiled loops on arrays, each with its slow twin in the tests. Imports errors and nothing else of this library."""
