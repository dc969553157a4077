"""Files of public data sets: from a folder, from the cache, or from their home on the web, in this order.

A download is streamed into a temporary file, checked for size and SHA-256 and only then moved into the cache, so
the cache holds whole, verified files or nothing. Nothing is downloaded at import.
"""

import hashlib
import http.client
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from hammingbox.errors import FileError
from hammingbox.files import atomic_write

DATA_VARIABLE, CACHE_VARIABLE = "HAMMINGBOX_DATA", "HAMMINGBOX_CACHE"
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Remote:
    """A file on the web.

    Attributes:
        path: its place in the cache, such as ``ag_news/train.csv``.
        urls: homes, tried in this order.
        sha256: hex digest of the whole file.
        size: its length in bytes; a longer answer is cut off at once.
    """

    path: str
    urls: tuple[str, ...]
    sha256: str
    size: int


def cache_folder() -> Path:
    """Where downloads and built arrays are kept: ``HAMMINGBOX_CACHE``, else the platform's cache folder."""
    if own := os.environ.get(CACHE_VARIABLE):
        return Path(own)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "hammingbox"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "hammingbox" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hammingbox"


def find(data_set: str, layouts: Sequence[str], *, data_dir: Path | None = None) -> Path | None:
    """The first of some files that exists in the data folder, or in the data set's own folder inside it.

    Args:
        data_set: name of that inner folder.
        layouts: relative paths the file is known under, the preferred one first.
        data_dir: the data folder; ``HAMMINGBOX_DATA`` when not given.
    """
    named = data_dir or os.environ.get(DATA_VARIABLE)
    if not named:
        return None
    places = (Path(named) / data_set, Path(named))
    return next((place / layout for layout in layouts for place in places if (place / layout).is_file()), None)


def missing(data_set: str, layouts: Sequence[str], *, data_dir: Path | None = None, why: str = "") -> FileError:
    """The error for a file that is in no folder and cannot be downloaded: says what to put where."""
    named = data_dir or os.environ.get(DATA_VARIABLE)
    looked = f"none in {named}" if named else f"no data folder ({DATA_VARIABLE} is not set)"
    return FileError(
        f"expected a file of {data_set} ({' or '.join(layouts)}), got {looked}. {why}"
        f"Put the file into FOLDER/{data_set}/ and name FOLDER by --data-dir or {DATA_VARIABLE}."
    )


def obtain(
    data_set: str,
    layouts: Sequence[str],
    remote: Remote,
    *,
    data_dir: Path | None = None,
    on_bytes: Callable[[int, int], None] = lambda _done, _size: None,
) -> Path:
    """A file of a data set: from the folder, else from the cache, else from the web.

    A folder given as `data_dir` is taken at its word: what is not there is an error, not a download.

    Raises:
        FileError: see `find` and `download`.
    """
    found = find(data_set, layouts, data_dir=data_dir)
    if found is None and data_dir is not None:
        raise missing(data_set, layouts, data_dir=data_dir)
    return found or download(remote, on_bytes=on_bytes)


def download(
    remote: Remote,
    *,
    timeout: float = 30.0,
    on_bytes: Callable[[int, int], None] = lambda _done, _size: None,
) -> Path:
    """The verified file in the cache, downloaded if it is not there or no longer what it was.

    Args:
        remote: what to download.
        timeout: seconds without an answer after which a home counts as unreachable.
        on_bytes: called with the bytes done and the size of the file.

    Raises:
        FileError: no network, an HTTP error, a truncated or another file; the cache is left as it was.
    """
    path = cache_folder() / remote.path
    if path.is_file() and path.stat().st_size == remote.size and file_sha256(path) == remote.sha256:
        return path
    failures = []
    for url in remote.urls:
        try:
            with atomic_write(path) as file:
                _stream(url, remote, file, timeout, on_bytes)
            return path
        except _DownloadError as error:
            failures.append(f"{error} from {urlsplit(url).netloc}")
    raise FileError(
        f"expected to download {remote.path} ({remote.size:,} bytes), got {'; '.join(failures)}. Try again later, or "
        f"get the file elsewhere, put it into FOLDER/{remote.path} and name FOLDER by --data-dir or {DATA_VARIABLE}."
    )


class _DownloadError(Exception):
    """Why one home did not give the file. Not an OSError: that would be taken for a full disk."""


def _stream(url: str, remote: Remote, file: BinaryIO, timeout: float, on_bytes: Callable[[int, int], None]) -> None:
    digest, done = hashlib.sha256(), 0
    for chunk in _chunks(url, timeout):
        done += len(chunk)
        if done > remote.size:
            raise _DownloadError("a longer file")
        digest.update(chunk)
        file.write(chunk)
        on_bytes(done, remote.size)
    if done < remote.size:
        raise _DownloadError(f"a download that broke off after {done:,} bytes")
    if digest.hexdigest() != remote.sha256:
        raise _DownloadError(f"a file with the wrong checksum (SHA-256 {digest.hexdigest()[:12]}...)")


def _chunks(url: str, timeout: float) -> Iterator[bytes]:
    """The body of an answer; every error of the network becomes a `_DownloadError`."""
    try:
        with urlopen(Request(url, headers={"User-Agent": "hammingbox"}), timeout=timeout) as answer:
            while chunk := answer.read(_CHUNK):
                yield chunk
    except HTTPError as error:
        error.close()
        raise _DownloadError(f"HTTP {error.code} ({error.reason})") from error
    except http.client.IncompleteRead as error:
        raise _DownloadError("a download that broke off") from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise _DownloadError(f"no connection ({getattr(reason, 'strerror', None) or reason})") from error


def file_sha256(path: Path) -> str:
    """Hex digest of a file, read in pieces.

    Raises:
        FileError: it is missing or unreadable.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileError(f"expected a readable file at {path}, got: {error.strerror or error}.") from error
