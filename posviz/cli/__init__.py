"""The command line: the scriptable twin of the dashboard, over the same core.

``python -m posviz COMMAND …``, or ``posviz COMMAND …`` where it is installed. Exit codes:

==== ==================================================================
0    done
2    wrong usage: an unknown command, option, method or length
3    the input cannot be used; one message on stderr says what to do
130  interrupted
==== ==================================================================
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from posviz.cli.commands import parse
from posviz.cli.output import complain, flush, show
from posviz.errors import PosvizError, SettingError

if TYPE_CHECKING:
    from collections.abc import Sequence

DONE, WRONG_USAGE, UNUSABLE_INPUT, INTERRUPTED = 0, 2, 3, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; nothing that goes wrong shows a traceback.

    Parameters
    ----------
    argv : sequence of str, optional
        The words after the program's name; those of the process if left out.
    """
    try:
        return _answer(argv)
    except SystemExit as err:  # argparse has printed the help, or what was wrong
        return err.code if isinstance(err.code, int) else WRONG_USAGE
    except KeyboardInterrupt:
        complain("interrupted.")
        return INTERRUPTED
    finally:
        flush()


def _answer(argv: Sequence[str] | None) -> int:
    try:
        command, options = parse(argv)
        show(command.run(options), as_json=options.json)
    except SettingError as err:
        complain(str(err))
        return WRONG_USAGE
    except PosvizError as err:
        complain(str(err))
        return UNUSABLE_INPUT
    except MemoryError:
        complain("this does not fit into the memory of this machine. Pick a smaller table.")
        return UNUSABLE_INPUT
    except Exception as err:  # the last net: a person gets a sentence, a developer the traceback
        if os.environ.get("POSVIZ_DEBUG"):
            raise
        complain(
            f"a fault in posviz itself stopped this ({type(err).__name__}: {err}). "
            f"Set POSVIZ_DEBUG=1 to see where, and please report it."
        )
        return UNUSABLE_INPUT
    return DONE
