"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import StoreError

__all__ = ["new_file"]


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """A file to write to, beside ``target``; it takes ``target``'s place when the block ends well, and is gone otherwise.

    Readable by its owner only. Raises StoreError if it cannot be written.
    """
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=target.suffix)
        os.close(handle)
        partial = Path(name)
        try:
            yield partial
            with partial.open("rb") as file:
                os.fsync(file.fileno())
            partial.replace(target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror or error}; name another file with -o") from error
