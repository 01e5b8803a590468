"""Write a file whole or not at all: a reader never sees half of it, and a full disk leaves what was there before.

The contents go to a neighbour with a name of its own, reach the disk, and replace the file in one step; of two writers of
one file the last one wins, and they do not mix. What goes wrong is raised with the name of the file that was asked for.
"""

import os
import secrets
from pathlib import Path

ORDINARY = 0o666  # less the user's umask, as `open` makes files


def write_atomically(path: str | Path, content: str | bytes, *, mode: int = ORDINARY) -> Path:
    """Put `content` (text as UTF-8, line ends as they are) at `path`, and return that as a path."""
    path = Path(path)
    part = path.with_name(f".{path.name[:80]}.{secrets.token_hex(4)}.part")
    try:
        with open(part, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        error.filename = str(path)
        error.filename2 = None
        raise
    finally:
        part.unlink(missing_ok=True)
    return path
