"""``python -m posviz``: the command line."""

import sys

from posviz.cli import main

if __name__ == "__main__":
    sys.exit(main())
