"""A model behind a URL: batches of rows as JSON, time-outs, repeated attempts, and no row asked twice.

The contract, in one exchange::

    POST {"columns": ["age", "city"], "rows": [[31, "Ulm"], [null, "Rom"]]}
    200  {"probabilities": [[0.9, 0.1], [0.2, 0.8]], "classes": ["ok", "fraud"], "model": "2026-11"}

`classes` and `model` are optional. Numbers are JSON numbers, a missing value is null, the rest is text; a data set of
texts has the one column `text`. Every request begins with the same row, whose answer must stay the same: so a service
that changes is noticed at the next request.
"""

import http.client
import json
import math
import os
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import torch

from hammingbox.data.fetch import cache_folder
from hammingbox.data.schema import Schema
from hammingbox.errors import InputError, VictimError
from hammingbox.files import sha256
from hammingbox.types import Embedded, Ids, Logits
from hammingbox.victims.answer_cache import AnswerCache
from hammingbox.victims.answers import Answers, class_order, classes_not_named
from hammingbox.victims.frames import Array, ColumnType, column_values
from hammingbox.victims.victim import Victim
from hammingbox.victims.written_texts import WrittenTexts, first_row, is_text

TOKEN_VARIABLE = "HAMMINGBOX_SERVICE_TOKEN"
"""Environment variable whose value is sent as a bearer token. It is never recorded."""
_LARGEST_REPLY = 256 * 2**20
_LONGEST_PAUSE = 60.0
_LONGEST_REASON = 200
"""Bytes of what a service says about an error."""
_SAME = 1e-6
"""Answers to one row differ by less than this between batches."""


@dataclass(frozen=True)
class Patience:
    """How a service is asked.

    Attributes:
        rows: per request, at most.
        timeout: seconds for one request.
        attempts: for one request, the first included.
        pause: seconds before the second attempt; it doubles with each further one.
    """

    rows: int = 1024
    timeout: float = 30.0
    attempts: int = 6
    pause: float = 0.5


class Service(Victim):
    """A model behind a URL; it has no gradient.

    Args:
        url: http or https, without a user name or password.
        schema: of the table; its texts and numbers are sent.
        name: identifies the model; the URL by default.
        patience: how it is asked.
        cache: the file for its answers; one in the cache folder by default.

    Raises:
        InputError: it is no such URL.
        VictimError: the service does not answer as agreed, or answers one row in two ways.
        FileError: the cache cannot be used.
    """

    has_gradient = False

    def __init__(
        self,
        url: str,
        schema: Schema,
        *,
        name: str = "",
        patience: Patience | None = None,
        cache: Path | None = None,
    ) -> None:
        super().__init__()
        _check_url(url)
        self.url, self.schema, self.patience = url, schema, patience or Patience()
        self.name = name or url
        key = sha256(url.encode(), b"\n", name.encode(), b"\n", schema.digest.encode())
        self.cache_path = cache or cache_folder() / "answers" / f"{key[:32]}.sqlite"
        self._texts = WrittenTexts(schema) if is_text(schema) else None
        self.reads_text = self._texts is not None
        self._names = ["text"] if self._texts is not None else [feature.name for feature in schema.features]
        self._values = [
            column_values(feature, ColumnType(place, feature.name))
            for place, feature in enumerate(schema.features if self._texts is None else ())
        ]
        self._model: str | None = None
        self._cache: AnswerCache | None = None
        self.requests = 0
        self._greet()

    def __getstate__(self) -> dict[str, Any]:
        """For another process, which opens the cache again."""
        return self.__dict__ | {"_cache": None}

    def embed(self, ids: Ids) -> Embedded:  # noqa: ARG002
        """Raises VictimError: a service has no embedding."""
        raise VictimError("expected a victim with gradients, got a service. Use an attack that needs no gradient.")

    def head(self, embedded: Embedded, ids: Ids) -> Logits:  # noqa: ARG002
        """Raises VictimError: a service has no head."""
        raise VictimError("expected a victim with gradients, got a service. Use an attack that needs no gradient.")

    def forward(self, ids: Ids) -> Logits:
        """Log-probabilities in float64. Only rows that were never answered are sent.

        Raises:
            VictimError: the service is down, slow, or does not answer as agreed. What it answered before is kept.
        """
        rows = np.ascontiguousarray(ids.cpu().numpy(), dtype="<i8")
        keys = [row.tobytes() for row in rows]
        known = self.cache.find(list(dict.fromkeys(keys)))
        new = {key: place for place, key in enumerate(keys) if key not in known}
        places, step = list(new.values()), max(1, self.patience.rows - 1)
        for start in range(0, len(places), step):
            part = places[start : start + step]
            answers = self._ask(rows[part])
            self.cache.add([keys[place] for place in part], answers)
            known |= {keys[place]: answer for place, answer in zip(part, answers, strict=True)}
        probabilities = np.stack([known[key] for key in keys]) if keys else np.zeros((0, len(self.schema.classes)))
        return torch.from_numpy(Answers(self.schema, None, "probabilities").read(probabilities, len(ids))).to(
            ids.device
        )

    @property
    def cache(self) -> AnswerCache:
        """The answers so far."""
        if self._cache is None:
            self._cache = AnswerCache(self.cache_path, len(self.schema.classes))
        return self._cache

    def _greet(self) -> None:
        """Asks for the row that every request begins with. It must be answered as in earlier runs, or twice alike."""
        self._first = first_row(self.schema).astype("<i8")
        key = self._first.tobytes()
        self._expected: Array | None = self.cache.find([key]).get(key)
        self._model = self.cache.model
        is_new = self._expected is None
        self._ask(self._first[:0])
        if is_new and self._expected is not None:
            self._ask(self._first[:0])
            self.cache.add([key], self._expected[None])

    def _ask(self, rows: Array) -> Array:
        """The probabilities of some rows, which follow the first row in the request."""
        sent = np.concatenate([self._first, rows])
        body = {"columns": self._names, "rows": self._as_json(sent)}
        answers = self._read(self._post(json.dumps(body).encode()), len(sent))
        if self._expected is None:
            self._expected = answers[0]
        if not np.allclose(answers[0], self._expected, rtol=0, atol=_SAME):
            raise VictimError(
                f"expected {self.url} to answer its first row as before ({_short(self._expected)}), got "
                f"{_short(answers[0])}: the service has changed, or answers at random. Give it another --model-name, "
                f"or delete {self.cache_path}."
            )
        return answers[1:]

    def _as_json(self, rows: Array) -> list[list[Any]]:
        if self._texts is not None:
            return [[text] for text in self._texts.build(rows).tolist()]
        columns = [_plain(values[codes]) for values, codes in zip(self._values, rows.T, strict=True)]
        return [list(row) for row in zip(*columns, strict=True)]

    def _read(self, reply: bytes, rows: int) -> Array:
        """The probabilities of a reply, in the order of the schema's classes.

        Raises:
            VictimError: the reply is not as agreed.
        """
        try:
            value = json.loads(reply)
            found = np.array(value["probabilities"], dtype=np.float64)
            classes, model = value.get("classes"), value.get("model")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
            raise VictimError(
                f'expected {self.url} to answer {{"probabilities": [[...], ...]}}, got '
                f"{reply[:80].decode(errors='replace')!r} ({type(error).__name__}). "
                "Check the address, and that the service answers as agreed."
            ) from error
        count = len(self.schema.classes)
        if found.shape != (rows, count):
            raise VictimError(
                f"expected {self.url} to answer {rows} row{'s' * (rows != 1)} with {count} probabilities each, got "
                f"shape {found.shape}. Let it answer one list per row, with a probability for every class "
                f"({', '.join(self.schema.classes[:12])})."
            )
        named = None if model is None else model if isinstance(model, str) else json.dumps(model)
        if self._model is not None and named != self._model:
            raise VictimError(
                f"expected answers of the model {self._model!r:.80} from {self.url}, got some of {named!r:.80}. Give "
                f"the new model another --model-name and folder, or delete {self.cache_path}."
            )
        if self._model is None and named is not None:
            self.cache.note_model(named)
        self._model = named
        Answers(self.schema, None, "probabilities").read(found, rows)  # finite, and sums of 1
        if classes is None:
            self.notes = (classes_not_named(self.schema),)
            return found
        order = class_order(classes, self.schema) if isinstance(classes, list) else None
        return found if order is None else found[:, list(order)]

    def _post(self, body: bytes) -> bytes:
        """Sends a request until it is answered, with growing pauses.

        Raises:
            VictimError: it is refused, or no attempt was answered.
        """
        reason = ""
        for attempt in range(self.patience.attempts):
            if attempt:
                time.sleep(min(self.patience.pause * 2 ** (attempt - 1), _LONGEST_PAUSE))
            try:
                self.requests += 1
                return self._once(body)
            except urllib.error.HTTPError as error:
                reason = f"HTTP {error.code} {error.reason}"
                with error:
                    wait = error.headers.get("Retry-After", "")
                    said = _beginning(error)
                if error.code != 429 and error.code < 500:
                    raise VictimError(
                        f"expected {self.url} to answer, got {reason}{said}. Check the address, the columns, and "
                        f"{TOKEN_VARIABLE} if it needs a token."
                    ) from error
                if wait.isdigit():
                    time.sleep(min(float(wait), _LONGEST_PAUSE))
            except (OSError, http.client.HTTPException) as error:  # also time-outs and refused connections
                reason = str(getattr(error, "reason", "") or error) or type(error).__name__
        raise VictimError(
            f"expected {self.url} to answer within {self.patience.timeout:g} s, got {reason} in "
            f"{self.patience.attempts} attempts. Check the address and that the service is up; what it answered before "
            "is kept: the same command goes on from there."
        )

    def _once(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        token = os.environ.get(TOKEN_VARIABLE)
        if token:
            headers["Authorization"] = f"Bearer {token}"
        request = urllib.request.Request(self.url, data=body, headers=headers, method="POST")
        opener = urllib.request.build_opener(_NoRedirect)
        with opener.open(request, timeout=self.patience.timeout) as reply:
            content = reply.read(_LARGEST_REPLY + 1)
        if len(content) > _LARGEST_REPLY:
            raise VictimError(f"expected a reply of at most {_LARGEST_REPLY // 2**20} MiB from {self.url}, got more.")
        return bytes(content)


def _beginning(error: urllib.error.HTTPError) -> str:
    """What a service says about an error, in brackets: often which column it does not like."""
    try:
        text = " ".join(error.read(_LONGEST_REASON).decode(errors="replace").split())
    except (OSError, http.client.HTTPException):
        return ""
    token = os.environ.get(TOKEN_VARIABLE)
    if token:
        text = text.replace(token, "...")  # some services repeat what they were sent
    return f" ({text!r})" if text else ""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirection could send rows, and the token, to somebody else."""

    def redirect_request(self, *_args: Any, **_kwargs: Any) -> None:
        """Follows none; the redirection becomes an error."""
        return


def is_url(text: str) -> bool:
    """Whether a text names a service."""
    return text.lower().startswith(("http://", "https://"))


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme.lower() in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, usable = urlsplit(""), False
    if not usable:
        raise InputError(f"expected an address such as http://host:8080/predict, got {url[:200]!r}.")
    if parts.username is not None or parts.password is not None:
        raise InputError(
            f"expected an address without a user name or password, got one with them. Set {TOKEN_VARIABLE} to a token: "
            "an address is written into records."
        )


def _plain(values: Array) -> list[Any]:
    """Values as JSON knows them."""
    if values.dtype.kind == "M":
        return [None if text == "NaT" else text for text in np.datetime_as_string(values, unit="s").tolist()]
    return [None if isinstance(v, float) and math.isnan(v) else v for v in values.tolist()]


def _short(answer: Array) -> str:
    return ", ".join(f"{number:.6g}" for number in answer[:6])
