"""Random walk kernels that learn: exact kernels, kernel networks and patterns that can be read."""

__version__ = "0.1.0"
