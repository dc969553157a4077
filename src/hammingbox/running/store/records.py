"""What a store holds, as values: runs, and the sessions a run was computed in."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RunKey:
    """What makes two runs the same: equal keys and an equal row give an equal record.

    Attributes:
        data: the data set's name, or the path of an own file as it was first written.
        split: which part of it.
        schema_sha256: what ids mean.
        space_sha256: what the attacker may write.
        goal_sha256: what counts as success.
        victim_sha256: hash of the victim's weights.
        defence: how the victim was trained; "standard" without a defence.
        attack: the attack's repr.
        budget: changed features at most.
        seed: of the attack.
    """

    data: str
    split: str
    schema_sha256: str
    space_sha256: str
    goal_sha256: str
    victim_sha256: str
    defence: str
    attack: str
    budget: int
    seed: int


@dataclass(frozen=True)
class Run:
    """One attack at one budget with one seed on rows of one data set.

    Attributes:
        id: its number in the store.
        key: what identifies it.
        name: the attack's short name.
        victim: where the checkpoint was.
        model: the victim's name in the table of victims.
        created: UTC time of the first session.
        refused: why the attack refused to run, if it did.
        rows: how many rows are recorded.
        seconds: spent attacking them, over all sessions.
        data_sha256: hash of the content of an own file; empty for a built-in data set.
        source: where an own file was and how it was read, see `DataReference`; empty for a built-in data set.
    """

    id: int
    key: RunKey
    name: str
    victim: str
    model: str
    created: str
    refused: str | None
    rows: int
    seconds: float
    data_sha256: str = ""
    source: str = ""


@dataclass(frozen=True)
class Session:
    """One process at work on a run, from its start to its end or its death.

    Attributes:
        started: UTC time.
        updated: UTC time of the last batch.
        rows: recorded in this session.
        seconds: spent attacking.
        environment: versions, threads, machine, git revision.
    """

    started: str
    updated: str
    rows: int
    seconds: float
    environment: dict[str, Any]
