"""What lies beside a file or folder that is not there, and may have been meant."""

from pathlib import Path

from photofinish.likeness import nearest


def beside(path: Path, folder: bool = False) -> str:
    """The advice for a file (or `folder`) that is not there: the nearest name in its place."""
    what = "folder" if folder else "file"
    if not path.parent.is_dir():
        return f"nor is there a folder {path.parent}"
    names = [each.name for each in path.parent.iterdir() if each.is_dir() == folder]
    near = nearest(path.name, names, most=1)
    return f"did you mean {path.with_name(near[0])}?" if near else f"name a {what} that is there"
