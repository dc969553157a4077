"""A model behind a URL: what is sent, what is asked only once, and services that are down, slow, wrong or fickle."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch

import hammingbox as hb
from hammingbox.victims.service import Patience, Service

SCHEMA = hb.Schema(
    (hb.Feature("age", ("18", "31.5", "60", "<missing>"), kind="number"), hb.Feature("city", ("Rom", "Ulm"))),
    ("ok", "fraud"),
)
ROWS = torch.tensor([[0, 0], [1, 1], [3, 0], [1, 1]])
QUICK = Patience(rows=3, timeout=2.0, attempts=3, pause=0.01)
Answer = Callable[[dict[str, Any]], tuple[int, Any]]


def probabilities(rows: list[list[Any]]) -> list[list[float]]:
    return [[0.9, 0.1] if (age or 0) < 40 and city == "Rom" else [0.3, 0.7] for age, city in rows]


class Server:
    """A service on this machine that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answer: Answer = lambda body: (200, {"probabilities": probabilities(body["rows"])})
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked += body["rows"]
                outer.headers.append(dict(self.headers))
                code, value = outer.answer(body)
                content = value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(content)))
                if code in (301, 302):
                    self.send_header("Location", "http://127.0.0.1:9/elsewhere")
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/predict"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


def service(server: Server, tmp_path: Path, **arguments: Any) -> Service:
    return Service(server.url, SCHEMA, patience=QUICK, cache=tmp_path / "answers.sqlite", **arguments)


def test_a_service_gets_rows_as_json_and_each_only_once(server: Server, tmp_path: Path) -> None:
    victim = service(server, tmp_path)
    logits = victim(ROWS)
    assert logits.exp()[:, 1].tolist() == pytest.approx([0.1, 0.7, 0.1, 0.7])
    first = [18, "Rom"]
    assert [row for row in server.asked if row != first] == [[31.5, "Ulm"], [None, "Rom"]]
    asked = len(server.asked)
    victim(ROWS)
    assert len(server.asked) == asked
    again = service(server, tmp_path)  # as after a kill: what was answered is on disk
    assert torch.equal(again(ROWS), logits)
    assert server.asked[asked:] == [first], "one row is asked again, to see that the service is still the same"
    threat = hb.ThreatModel(hb.FullSpace(SCHEMA), 1)
    found = hb.evaluate(victim, hb.Dataset(SCHEMA, ROWS[:3], torch.tensor([0, 1, 0])), threat, hb.Exhaustive())
    assert found.rows.success.all()


def test_requests_hold_many_rows_and_classes_may_be_named(server: Server, tmp_path: Path) -> None:
    def reversed_columns(body: dict[str, Any]) -> tuple[int, Any]:
        assert body["columns"] == ["age", "city"]
        assert len(body["rows"]) <= QUICK.rows
        return 200, {"probabilities": [row[::-1] for row in probabilities(body["rows"])], "classes": ["fraud", "ok"]}

    assert service(server, tmp_path / "unnamed").notes == (
        "the model does not name its classes: its answers are taken as ok, fraud",
    )
    server.answer = reversed_columns
    named = service(server, tmp_path)
    assert named(ROWS).exp()[:, 1].tolist() == pytest.approx([0.1, 0.7, 0.1, 0.7])
    assert named.notes == ()


def test_a_service_that_fails_now_and_then_is_asked_again(server: Server, tmp_path: Path) -> None:
    steady, calls = server.answer, []

    def shaky(body: dict[str, Any]) -> tuple[int, Any]:
        calls.append(1)
        return (503, {}) if len(calls) % 2 else steady(body)

    server.answer = shaky
    assert service(server, tmp_path)(ROWS).shape == (4, 2)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda body: (500, {}), r"to answer within 2 s, got HTTP 500 .* in 3 attempts"),
        (lambda body: (404, {}), r"got HTTP 404 .*Check the address"),
        (lambda body: (302, {}), r"got HTTP 302"),
        (
            lambda body: (422, {"detail": "age is a text"}),
            r"got HTTP 422 .* \('\{.detail.: .age is a text.\}'\)\. Check",
        ),
        (lambda body: (200, b"<html>"), r'to answer \{"probabilities"'),
        (lambda body: (200, [1, 2]), r"TypeError|AttributeError"),
        (lambda body: (200, {"probabilities": [[0.5, 0.5]] * 9}), r"got shape \(9, 2\)"),
        (lambda body: (200, {"probabilities": [[10**400, 0]] * len(body["rows"])}), "OverflowError"),
        (lambda body: (200, {"probabilities": [[0.2, 0.2, 0.6]] * len(body["rows"])}), r"got shape \(1, 3\)"),
        (lambda body: (200, {"probabilities": [[0.9, 0.9]] * len(body["rows"])}), r"rows summing to 1"),
        (lambda body: (200, {"probabilities": [[None, 1]] * len(body["rows"])}), r"finite|TypeError"),
        (
            lambda body: (200, {"probabilities": probabilities(body["rows"]), "classes": ["a", "b"]}),
            r"expected a model of the classes ok, fraud, got one of a, b",
        ),
    ],
)
def test_services_that_do_not_answer_as_agreed(answer: Answer, message: str, server: Server, tmp_path: Path) -> None:
    server.answer = answer
    with pytest.raises(hb.HammingboxError, match=message):
        service(server, tmp_path)


def test_a_service_that_breaks_down_keeps_what_was_answered(server: Server, tmp_path: Path) -> None:
    victim = service(server, tmp_path)
    victim(ROWS[:2])
    server.answer = lambda body: (500, {})
    with pytest.raises(hb.VictimError, match="what it answered before is kept"):
        victim(ROWS)
    assert victim(ROWS[:2]).shape == (2, 2)
    assert len(victim.cache) == 2


def test_a_service_that_is_down_or_slow(server: Server, tmp_path: Path) -> None:
    server.close()
    with pytest.raises(hb.VictimError, match=r"got .*[Rr]efused.* in 3 attempts"):
        service(server, tmp_path)
    slow = Server()
    slow.answer = lambda body: time.sleep(0.6) or (200, {})
    with pytest.raises(hb.VictimError, match=r"within 0\.1 s, got .*timed out"):
        Service(slow.url, SCHEMA, patience=Patience(timeout=0.1, attempts=2, pause=0.01), cache=tmp_path / "s.sqlite")
    slow.close()


def test_a_service_that_changes_its_answers(server: Server, tmp_path: Path) -> None:
    victim = service(server, tmp_path)
    victim(ROWS[:2])
    server.answer = lambda body: (200, {"probabilities": [[0.5, 0.5]] * len(body["rows"])})
    for ask in (lambda: victim(ROWS), lambda: service(server, tmp_path)):
        with pytest.raises(hb.VictimError, match=r"answer its first row as before \(0\.9, 0\.1\), got 0\.5, 0\.5"):
            ask()
    service(server, tmp_path / "other", name="new version")
    noise = iter(range(1000))
    server.answer = lambda body: (200, {"probabilities": [[(p := next(noise) / 1000), 1 - p] for _ in body["rows"]]})
    with pytest.raises(hb.VictimError, match="answers at random"):
        Service(server.url, SCHEMA, patience=QUICK, cache=tmp_path / "noise.sqlite")


def test_another_model_behind_the_same_address(server: Server, tmp_path: Path) -> None:
    versions = iter(["1", "1", "2"])
    server.answer = lambda body: (200, {"probabilities": probabilities(body["rows"]), "model": next(versions)})
    victim = service(server, tmp_path)
    with pytest.raises(hb.VictimError, match=r"of the model '1' from .*, got some of '2'\. Give the new"):
        victim(ROWS)


def test_another_model_between_two_runs(server: Server, tmp_path: Path) -> None:
    """Answers of two models never mix, even if both answer the first row alike."""
    server.answer = lambda body: (200, {"probabilities": probabilities(body["rows"]), "model": "May"})
    service(server, tmp_path)(ROWS[:2])
    service(server, tmp_path)
    others: list[dict[str, Any]] = [{"model": 2}, {}]
    for other in others:

        def answer(body: dict[str, Any], other: dict[str, Any] = other) -> tuple[int, Any]:
            return 200, {"probabilities": probabilities(body["rows"])} | other

        server.answer = answer
        with pytest.raises(hb.VictimError, match=r"of the model 'May' .* delete .*answers\.sqlite"):
            service(server, tmp_path)
    service(server, tmp_path / "other", name="another")


def test_tokens_are_sent_and_not_written(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HAMMINGBOX_SERVICE_TOKEN", "secret")
    service(server, tmp_path)
    assert server.headers[0]["Authorization"] == "Bearer secret"
    assert b"secret" not in (tmp_path / "answers.sqlite").read_bytes()
    server.answer = lambda body: (401, {"detail": "secret is no token"})
    with pytest.raises(hb.VictimError, match=r"HTTP 401 .*\.\.\. is no token") as seen:
        service(server, tmp_path / "new")
    assert "secret" not in str(seen.value)
    for url in ("http://user:pass@host/x", "http://", "http://[::1", "ftp://host"):
        with pytest.raises(hb.InputError, match="expected an address"):
            Service(url, SCHEMA)
    with pytest.raises(hb.FileError, match="or sending rows"):
        hb.open_model(server.url, SCHEMA, named_by_user=False)


def test_a_damaged_cache_is_one_sentence(server: Server, tmp_path: Path) -> None:
    (tmp_path / "answers.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(hb.FileError, match=r"usable cache of answers .* Delete the file"):
        service(server, tmp_path)
