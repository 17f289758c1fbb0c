"""Everything rwkplus raises on purpose. Each message names the thing, the field and the remedy."""


class RWKPlusError(ValueError):
    """Base of all errors of this library."""


class GraphError(RWKPlusError):
    """A graph that came through the door is malformed."""


class ShapeError(RWKPlusError):
    """Two tensors do not fit together."""


class ParameterError(RWKPlusError):
    """An argument of an estimator or function has an impossible value."""


class NumericError(RWKPlusError):
    """A result would not be a finite number."""


class DataError(RWKPlusError):
    """A data set or file cannot be found or read."""


class MissingExtraError(RWKPlusError, ImportError):
    """An optional dependency is needed; the message says which extra installs it."""


class RWKPlusWarning(UserWarning):
    """Something legal whose result may surprise."""
