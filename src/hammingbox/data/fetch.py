"""Finds the files of public data sets: in the data folder, else in the cache, else on the web.

A download is streamed into a temporary file and moved into the cache only after its size and SHA-256 were checked.
The cache therefore holds only complete, verified files. Nothing is downloaded at import.
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
from hammingbox.files import atomic_write, file_sha256

DATA_VARIABLE, CACHE_VARIABLE = "HAMMINGBOX_DATA", "HAMMINGBOX_CACHE"
_CHUNK = 1 << 16


@dataclass(frozen=True)
class RemoteFile:
    """A file on the web.

    Attributes:
        path: where the cache keeps it, such as ``ag_news/train.csv``.
        urls: where to get it, tried in this order.
        sha256: hex digest of the file.
        size: in bytes; a longer response is refused as soon as it exceeds this.
    """

    path: str
    urls: tuple[str, ...]
    sha256: str
    size: int


def cache_folder() -> Path:
    """The folder of downloads and cached arrays: ``HAMMINGBOX_CACHE``, else the platform's cache folder."""
    if own := os.environ.get(CACHE_VARIABLE):
        return Path(own)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "hammingbox"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "hammingbox" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hammingbox"


def find_file(data_set: str, layouts: Sequence[str], *, data_dir: Path | None = None) -> Path | None:
    """The first of some paths that exists in the data folder or in the folder of the data set inside it.

    Args:
        data_set: the name of the inner folder.
        layouts: relative paths the file may have, the preferred one first.
        data_dir: the data folder; ``HAMMINGBOX_DATA`` by default.
    """
    folder = data_dir or os.environ.get(DATA_VARIABLE)
    if not folder:
        return None
    folders = (Path(folder) / data_set, Path(folder))
    return next((place / layout for layout in layouts for place in folders if (place / layout).is_file()), None)


def missing_file(data_set: str, layouts: Sequence[str], *, data_dir: Path | None = None, why: str = "") -> FileError:
    """The error for a file that is in no folder and cannot be downloaded: says where to put it."""
    folder = data_dir or os.environ.get(DATA_VARIABLE)
    found = f"none in {folder}" if folder else f"no data folder ({DATA_VARIABLE} is not set)"
    return FileError(
        f"expected a file of {data_set} ({' or '.join(layouts)}), got {found}. {why}"
        f"Put the file into FOLDER/{data_set}/ and pass FOLDER as --data-dir or {DATA_VARIABLE}."
    )


def find_or_download(
    data_set: str,
    layouts: Sequence[str],
    remote: RemoteFile,
    *,
    data_dir: Path | None = None,
    on_bytes: Callable[[int, int], None] = lambda _done, _size: None,
) -> Path:
    """A file of a data set: from the data folder, else from the cache, else from the web.

    If `data_dir` is given and does not have the file, that is an error: nothing is downloaded.

    Args:
        data_set: see `find_file`.
        layouts: see `find_file`.
        remote: what to download.
        data_dir: see `find_file`.
        on_bytes: see `download`.

    Raises:
        FileError: see `missing_file` and `download`.
    """
    found = find_file(data_set, layouts, data_dir=data_dir)
    if found is None and data_dir is not None:
        raise missing_file(data_set, layouts, data_dir=data_dir)
    return found or download(remote, on_bytes=on_bytes)


def download(
    remote: RemoteFile,
    *,
    timeout: float = 30.0,
    on_bytes: Callable[[int, int], None] = lambda _done, _size: None,
) -> Path:
    """The path of the verified file in the cache. It is downloaded if it is missing there or was changed.

    Args:
        remote: what to download.
        timeout: seconds without a response after which a server counts as unreachable.
        on_bytes: called with the number of bytes received and the size of the file.

    Raises:
        FileError: no network, an HTTP error, or a truncated or different file; the cache is left unchanged.
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
        f"get the file elsewhere, put it into FOLDER/{remote.path} and pass FOLDER as --data-dir or {DATA_VARIABLE}."
    )


class _DownloadError(Exception):
    """Why one URL did not deliver the file. Not an OSError: `atomic_write` would report that as a full disk."""


def _stream(url: str, remote: RemoteFile, file: BinaryIO, timeout: float, on_bytes: Callable[[int, int], None]) -> None:
    digest, done = hashlib.sha256(), 0
    for chunk in _chunks(url, timeout):
        done += len(chunk)
        if done > remote.size:
            raise _DownloadError("a longer file")
        digest.update(chunk)
        file.write(chunk)
        on_bytes(done, remote.size)
    if done < remote.size:
        raise _DownloadError(f"a download that ended after {done:,} bytes")
    if digest.hexdigest() != remote.sha256:
        raise _DownloadError(f"a file with the wrong checksum (SHA-256 {digest.hexdigest()[:12]}...)")


def _chunks(url: str, timeout: float) -> Iterator[bytes]:
    """The body of a response in chunks; every network error becomes a `_DownloadError`."""
    try:
        with urlopen(Request(url, headers={"User-Agent": "hammingbox"}), timeout=timeout) as response:
            while chunk := response.read(_CHUNK):
                yield chunk
    except HTTPError as error:
        error.close()
        raise _DownloadError(f"HTTP {error.code} ({error.reason})") from error
    except http.client.IncompleteRead as error:
        raise _DownloadError("a download that was cut off") from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise _DownloadError(f"no connection ({getattr(reason, 'strerror', None) or reason})") from error
