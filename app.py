"""The entry of the program: ``python app.py`` and the ``salesfloor`` script. Nothing imports this module."""

import sys

from ui.cli import run

__all__ = ["main"]


def main() -> int:
    """Run the command line and return its exit status. Without arguments the pages are served."""
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
