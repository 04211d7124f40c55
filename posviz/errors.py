"""Everything posviz refuses, as one tree.

::

    PosvizError
    ├── SourceError         a reference cannot be opened: file, Hub, name
    │   ├── DamagedError    a file that was read does not add up
    │   └── NoTableError    it opened, but holds no position table
    ├── TableError          the numbers do not form a usable table
    ├── SettingError        a method, length or option outside what is possible
    ├── TrainingError       a training run cannot start or go on
    └── ModelError          a model cannot be opened or run as asked

The text of each is what a person reads: what was expected, what was found, what to do.
Pages and the command line catch :class:`PosvizError` and nothing else of ours; errors of
other libraries are turned into one of these, ``from`` the original, in the one function
that calls the library.
"""

from __future__ import annotations


class PosvizError(Exception):
    """Parent of every refusal; its text is a sentence for the person at the screen."""


class SourceError(PosvizError):
    """A reference cannot be opened."""


class DamagedError(SourceError):
    """A file was read, and what it says of itself does not add up; what lies beside it may do."""


class NoTableError(SourceError):
    """A checkpoint opened, but no tensor in it is an absolute position table.

    Parameters
    ----------
    message : str
        Why there is none, and what the model uses instead where that is known.
    scheme : str
        One of the schemes of the command line's ``inspect``: ``rotary``, ``alibi``,
        ``relative``, ``sinusoidal``, ``convolutional``, ``none`` or ``unknown``.
    """

    def __init__(self, message: str, *, scheme: str = "unknown") -> None:
        super().__init__(message)
        self.scheme = scheme


class TableError(PosvizError):
    """The numbers do not form a usable position table."""


class SettingError(PosvizError):
    """A method, length or option lies outside what is possible; the text names the choices."""


class TrainingError(PosvizError):
    """A training run cannot start or go on."""


class ModelError(PosvizError):
    """A model cannot be opened or run as asked."""
