"""Results that outlive a killed run: one SQLite file per folder."""

from hammingbox.running.store.records import Run, RunKey, Session
from hammingbox.running.store.store import FILE, Store, space_digest

__all__ = ["FILE", "Run", "RunKey", "Session", "Store", "space_digest"]
