"""Operators of networks, compiled by numba on the CPU."""
