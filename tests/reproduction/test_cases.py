"""Case studies: real changes with their originals, and candidates of the right grammatical form."""

from hammingbox.reproduction.cases import CASES, candidate_cases
from hammingbox.studies.study import Size
from hammingbox.studies.workspace import Workspace
from toys.studies import QUICK


def test_cases_show_real_changes(workspace: Workspace) -> None:
    size = Size(victims=(QUICK,), rows=12, budgets=(3,), attacks=("ga",))
    outcome = CASES.run(workspace, size)
    rows = [case for case in outcome.cases if case.group.startswith("splice")]
    assert rows
    for case in rows:
        assert case.before != case.after
        changed = [piece for piece in case.pieces if piece.original is not None]
        assert 1 <= len(changed) <= 3
        assert sum(len(piece.text) for piece in case.pieces) == 60
        assert all(piece.text != piece.original for piece in changed)


def test_candidates_keep_their_grammatical_form() -> None:
    synonyms, forms = candidate_cases()
    offered = {
        p.original: p.text.strip("{}").split(", ") for case in (synonyms, forms) for p in case.pieces if p.original
    }
    assert "superior" in offered["excellent"]
    assert all(word.endswith("s") for word in offered["looks"])
    assert "".join(p.original or p.text for p in synonyms.pieces).startswith("The cast is excellent, the acting good")
