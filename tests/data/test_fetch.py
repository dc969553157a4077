"""Downloads from a local server that fails in every way a server on the web can fail."""

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hammingbox.data.fetch import (
    CACHE_VARIABLE,
    DATA_VARIABLE,
    RemoteFile,
    cache_folder,
    download,
    find_file,
    find_or_download,
)
from hammingbox.errors import FileError

CONTENT = bytes(range(256)) * 1024  # more than one chunk
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class FailingServer(ThreadingHTTPServer):
    """Holds requests for `/silent` until the test ends."""

    stop = threading.Event()


class FailingHandler(BaseHTTPRequestHandler):
    server: FailingServer

    def do_GET(self) -> None:
        if self.path == "/missing":
            self.send_error(404, "Not Found")
            return
        if self.path == "/silent":
            self.server.stop.wait()
            return
        body = {"/whole": CONTENT, "/truncated": CONTENT[:-70_000], "/other": CONTENT[::-1], "/longer": CONTENT + b"x"}
        self.send_response(200)
        if self.path == "/chunked":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"10\r\n" + CONTENT[:7])  # announces 16 bytes and sends 7
            return
        if self.path != "/longer":  # a response without a length, as some servers send it
            self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(body[self.path])

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def home() -> Iterator[str]:
    server = FailingServer(("127.0.0.1", 0), FailingHandler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.stop.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def remote(*urls: str) -> RemoteFile:
    return RemoteFile("toy/file.bin", urls, SHA256, len(CONTENT))


def files_in_cache() -> list[str]:
    return [p.name for p in cache_folder().rglob("*") if p.is_file()]


def test_a_download_is_verified_cached_and_not_repeated(home: str) -> None:
    seen: list[int] = []
    path = download(remote(f"{home}/whole"), on_bytes=lambda done, size: seen.append(done))
    assert path.read_bytes() == CONTENT
    assert seen[-1] == len(CONTENT)
    assert len(seen) > 1, "streamed in chunks"
    assert download(remote("http://127.0.0.1:9/whole")) == path, "the second time no server is contacted"
    assert files_in_cache() == ["file.bin"]


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("missing", r"got HTTP 404 \(Not Found\) from 127\.0\.0\.1"),
        ("truncated", r"a download that ended after 192,144 bytes"),
        ("chunked", r"a download that was cut off from"),
        ("other", r"wrong checksum"),
        ("longer", r"a longer file"),
    ],
)
def test_a_failed_download_leaves_no_trace(home: str, page: str, message: str) -> None:
    with pytest.raises(FileError, match=message) as caught:
        download(remote(f"{home}/{page}"))
    assert "expected to download toy/file.bin (262,144 bytes)" in str(caught.value)
    assert "--data-dir or HAMMINGBOX_DATA" in str(caught.value)
    assert files_in_cache() == []


def test_a_server_that_never_answers_is_an_error(home: str) -> None:
    with pytest.raises(FileError, match=r"no connection .*timed out"):
        download(remote(f"{home}/silent"), timeout=0.2)


def test_no_network() -> None:
    with pytest.raises(FileError, match=r"got no connection \(Connection refused\) from 127\.0\.0\.1:9"):
        download(remote("http://127.0.0.1:9/whole"))
    assert files_in_cache() == []


def test_the_next_url_is_tried_if_one_fails(home: str) -> None:
    assert download(remote(f"{home}/missing", f"{home}/other", f"{home}/whole")).read_bytes() == CONTENT


def test_a_damaged_file_in_the_cache_is_replaced_or_refused(home: str) -> None:
    path = download(remote(f"{home}/whole"))
    path.write_bytes(CONTENT[:100])
    with pytest.raises(FileError, match="HTTP 404"):
        download(remote(f"{home}/missing"))
    assert download(remote(f"{home}/whole")).read_bytes() == CONTENT


def test_a_full_disk_is_not_called_a_network_error(home: str, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(FileError, match="expected to write"):
        download(remote(f"{home}/whole"))


def test_a_folder_comes_before_the_web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "data"
    (folder / "toy").mkdir(parents=True)
    unreachable = remote("http://127.0.0.1:9/whole")
    with pytest.raises(
        FileError, match=r"expected a file of toy \(a.csv or b.csv\), got none in .*data\. Put the file"
    ):
        find_or_download("toy", ["a.csv", "b.csv"], unreachable, data_dir=folder)
    (folder / "b.csv").write_text("outer")
    assert find_or_download("toy", ["a.csv", "b.csv"], unreachable, data_dir=folder).read_text() == "outer"
    (folder / "toy" / "b.csv").write_text("inner")
    monkeypatch.setenv(DATA_VARIABLE, str(folder))
    assert find_or_download("toy", ["a.csv", "b.csv"], unreachable).read_text() == "inner"
    (folder / "toy" / "a.csv").write_text("preferred")
    assert find_or_download("toy", ["a.csv", "b.csv"], unreachable).read_text() == "preferred"
    assert find_file("toy", ["c.csv"]) is None
    with pytest.raises(FileError, match="no connection"):
        find_or_download("toy", ["c.csv"], unreachable)
