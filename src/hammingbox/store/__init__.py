"""Results that outlive a killed run: one SQLite file a folder."""

from hammingbox.store.records import Run, RunKey, Session
from hammingbox.store.resume import evaluate_into
from hammingbox.store.store import FILE, Store, space_digest

__all__ = ["FILE", "Run", "RunKey", "Session", "Store", "evaluate_into", "space_digest"]
