"""Unsupervised pattern mining: the small graphs that describe a database."""
