"""Everything rwkplus raises on purpose: what is wrong, and apart from it what can be done about it.

A remedy names arguments by their Python names and is spelled for whoever reads it: ``ignore=('age',)`` in Python,
``--ignore age`` where a command with that option runs, and not at all where there is no such option.
"""


def in_python(name: str, value: object) -> str:
    """Spell an argument as Python does; ``...`` stands for a value that the user has to choose.

    >>> in_python("ignore", ("age",)), in_python("smiles", ...)
    ("ignore=('age',)", 'smiles=...')
    """
    return f"{name}={'...' if value is ... else repr(value)}"


class Remedy:
    """What can be done, in one sentence; ``{name}`` in it stands for an argument of that name with the given value.

    >>> error = GraphError("node 3 has no 'age'.", Remedy("Leave the column out: {ignore}.", ignore=("age",)))
    >>> print(error)
    node 3 has no 'age'. Leave the column out: ignore=('age',).
    >>> error.render(lambda name, value: f"--{name} {value[0]}")
    "node 3 has no 'age'. Leave the column out: --ignore age."
    >>> error.render(lambda name, value: None)
    "node 3 has no 'age'."
    """

    def __init__(self, text: str, **arguments: object) -> None:
        self.text = text
        self.arguments = arguments

    def render(self, spell: object = in_python) -> "str | None":
        """The sentence, or None where one of its arguments cannot be given: ``spell(name, value)`` returned None."""
        words = {name: spell(name, value) for name, value in self.arguments.items()}  # type: ignore[operator]
        return None if None in words.values() else self.text.format(**words)

    def __repr__(self) -> str:
        return f"Remedy({self.render()!r})"


class _WithRemedies:
    """What errors and warnings share: their arguments are a message, followed by remedies.

    A message that speaks of an argument is a :class:`Remedy` as well, so that it can be spelled.
    """

    args: tuple[object, ...]

    def render(self, spell: object = in_python) -> str:
        """The message and those remedies that can be spelled; ``spell(name, value)`` gives the words or None."""
        message, *remedies = self.args or ("",)
        if isinstance(message, Remedy):  # it speaks of an argument itself
            message = message.render(spell) or message.render()
        words = [remedy.render(spell) if isinstance(remedy, Remedy) else remedy for remedy in remedies]
        return " ".join([str(message), *(str(word) for word in words if word is not None)])

    def __str__(self) -> str:
        return self.render()


class RWKPlusError(_WithRemedies, ValueError):
    """Base of all errors of this library."""


class GraphError(RWKPlusError):
    """A graph is malformed, or is not like those that were fitted."""


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


def is_interrupt(error: BaseException | None) -> bool:
    """Whether an error comes from Ctrl-C; pressed as a compiled function returns, Python makes it a ``SystemError``.

    >>> is_interrupt(KeyboardInterrupt()), is_interrupt(SystemError())
    (True, False)
    """
    if isinstance(error, SystemError):
        return is_interrupt(error.__cause__)
    return isinstance(error, KeyboardInterrupt)


class RWKPlusWarning(_WithRemedies, UserWarning):
    """Something legal whose result may surprise."""
