"""Architectures: no data, no optimizer, no loss."""
