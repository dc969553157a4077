"""Every check of the evaluation fires on a victim made to deserve it, and stays silent on a sound one."""

from pathlib import Path

import torch

from hammingbox import ATTACKS, Dataset, FullSpace, Rate, Schema, ThreatModel
from hammingbox.evaluation.diagnose import Finding, diagnose_results, diagnose_victim
from hammingbox.evaluation.diagnose import class_findings as of_classes
from hammingbox.evaluation.diagnose import data_findings as of_data
from hammingbox.evaluation.diagnose import run_findings as of_runs
from hammingbox.evaluation.diagnose import victim_findings as of_victim
from hammingbox.evaluation.diagnose.victim_checks import rank_correlation
from hammingbox.evaluation.failed_row import FailedRow
from hammingbox.types import Embedded, Ids, Logits
from toys import ToyVictim, toy_rows


def checks(victim: ToyVictim, schema: Schema) -> list[str]:
    x, _ = toy_rows(schema, ToyVictim(schema.cardinalities))
    data = Dataset(schema, x, torch.zeros(len(x), dtype=torch.int64))
    return [one.check for one in diagnose_victim(victim, data, ThreatModel(FullSpace(schema), 2))]


def test_a_sound_victim_has_no_findings(schema: Schema, victim: ToyVictim) -> None:
    assert checks(victim.eval(), schema) == []


def test_train_mode(schema: Schema, victim: ToyVictim) -> None:
    assert checks(victim.train(), schema) == ["train mode"]
    assert victim.training


class Probabilities(ToyVictim):
    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        return super().head(embedded, ids).softmax(1)


class Noisy(ToyVictim):
    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        logits = super().head(embedded, ids)
        return logits + torch.rand(logits.shape, generator=torch.Generator().manual_seed(self.calls()))

    count = 0

    def calls(self) -> int:
        self.count += 1
        return self.count


class Broken(ToyVictim):
    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        return super().head(embedded, ids) * float("nan")


class Rounded(ToyVictim):
    """Argmax inside: right answers, no gradients."""

    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        return super().head(embedded.detach() + 0 * embedded, ids)


class RootAtZero(ToyVictim):
    """Finite logits, and a gradient of zero times infinity."""

    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        return super().head(embedded, ids) + (embedded - embedded.detach()).abs().sqrt().sum((1, 2))[:, None]


class Saturated(ToyVictim):
    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        return super().head(embedded, ids) * 1000


class Wavy(ToyVictim):
    """Between categories the logits swing: one gradient says nothing about the next category."""

    def head(self, embedded: Embedded, ids: Ids) -> Logits:
        return super().head((40 * embedded).sin(), ids)


def test_each_fault_is_found(schema: Schema) -> None:
    d = schema.cardinalities
    assert "logits" in checks(Probabilities(d).eval(), schema)
    assert "deterministic victim" in checks(Noisy(d).eval(), schema)
    assert "finite logits" in checks(Broken(d).eval(), schema)
    assert "finite gradients" in checks(RootAtZero(d).eval(), schema)
    assert "zero gradients" in checks(Rounded(d).eval(), schema)
    assert "saturated softmax" in checks(Saturated(d).eval(), schema)
    assert "soft against discrete" in checks(Wavy(d).eval(), schema)


def test_rank_correlation() -> None:
    a = torch.tensor([[1.0, 5.0, 3.0, 99.0], [4.0, 3.0, 2.0, 1.0]])
    mask = torch.tensor([[True, True, True, False], [True, True, True, True]])
    assert torch.allclose(rank_correlation(a, a.exp(), mask), torch.ones(2))
    assert torch.allclose(rank_correlation(a, -a, mask), -torch.ones(2))
    # ranks 1 3 2 against 1 2 3: Spearman's rho is 1 - 6 * 2 / 24 = 0.5
    b = torch.tensor([[1.0, 2.0, 3.0, -9.0], [4.0, 3.0, 2.0, 1.0]])
    assert torch.allclose(rank_correlation(a, b, mask), torch.tensor([0.5, 1.0]))


def test_results_are_checked_against_each_other() -> None:
    attacks = {name: ATTACKS[name]() for name in ("pcaa", "auto", "ga", "random", "exhaustive", "oracle")}

    def found(**hits: list[int]) -> list[str]:
        rates = {(name, b + 1): Rate(h, 100) for name, row in hits.items() for b, h in enumerate(row)}
        return [f"{f.check}/{f.severity}" for f in diagnose_results(rates, attacks)]

    assert found(pcaa=[50, 80], ga=[50, 70], random=[10, 20], exhaustive=[60, 90]) == []
    assert found(pcaa=[50], ga=[52]) == ["gradient-free attack wins/note"]
    assert found(pcaa=[20], ga=[80]) == ["gradient-free attack wins/warning"]
    assert "random search wins/error" in found(pcaa=[20], random=[30])
    assert "random search wins/note" in found(pcaa=[20], random=[22]), "two rows in a hundred may be chance"
    assert found(pcaa=[50, 40]) == ["success falls with budget/warning"]
    assert found(pcaa=[50], oracle=[60], exhaustive=[60]) == [], "exact attacks are the limit, not rivals"
    assert found(pcaa=[50], auto=[60]) == [], "auto has gradients among its stages"
    assert found(auto=[20], ga=[80]) == [], "there is no attack that needs gradients"
    assert found(pcaa=[20], mine=[80]) == [], "nothing is known about an attack of the user's own"
    assert found(mine=[50, 40]) == ["success falls with budget/warning"]
    assert found(random=[30]) == []


def test_every_check_has_a_distinct_slug() -> None:
    rate = Rate(1, 2)
    found = [
        of_victim.train_mode(1, 0.5), of_victim.not_finite_logits(1, 2),
        of_victim.not_deterministic(0.5, "runs"),
        of_victim.probabilities_as_logits("error"), of_victim.saturated_softmax(1, 2),
        of_victim.not_finite_gradients(1, 2),
        of_victim.zero_gradients(1, 2), of_victim.misleading_gradients(0.1), of_runs.random_wins(1, rate, ("ga", rate)),
        of_runs.gradient_free_wins(1, ("pcaa", rate), ("ga", rate)), of_runs.success_falls("ga", (1, rate), (2, rate)),
        of_runs.unequal_rows(1, 2, 3), of_runs.few_rows(rate, 30), of_runs.broken_and_proven(1, 2),
        of_runs.nothing_attacked(9, 0), of_classes.collapsed_victim("a", 9, 5, 9),
        of_classes.never_predicted(["a"], 5, 9),
        of_classes.worse_than_majority(rate, "a", 2), of_classes.classes_in_another_order([("a", "b")], rate, 2),
        of_classes.absent_class(["a"], 9), of_classes.class_not_attacked(["a"], 9),
        of_data.leaked_label([("x", 9)], 9, 5), of_data.value_per_row([("x", 9)], 9), of_victim.many_ties(1, 9),
        of_victim.model_note("it is asked so"),
        of_runs.failed_rows([FailedRow(3, "it raised")], 9), of_data.no_change_allowed(1, 9),
        of_data.unwritable_changes(1, 9), of_data.budget_too_small(1, 9),
        of_data.codes_offered([("x", "-1", 2)], "note"),
        of_data.spelling_of_texts(1, 9, words=90, unknown=1, other=0, examples=[]),
    ]  # fmt: skip
    builders = [
        value
        for module in (of_victim, of_classes, of_runs, of_data)
        for value in vars(module).values()
        if getattr(value, "__annotations__", {}).get("return") is Finding
    ]
    assert len(found) + 1 == len(builders), "a builder is missing here; `less_accurate_than_majority` has a slug twice"
    assert {one.slug for one in found} == {
        "train-mode", "finite-logits", "deterministic-victim", "logits", "saturated-softmax", "finite-gradients",
        "zero-gradients", "soft-against-discrete", "random-search-wins", "gradient-free-attack-wins",
        "success-falls-with-budget", "unequal-rows", "few-rows", "broken-and-proven",
        "nothing-attacked", "collapsed-victim", "class-never-predicted", "no-better-than-the-majority-class",
        "class-order", "absent-class", "class-not-attacked", "leaked-label",
        "ties", "how-the-model-is-asked", "failed-rows", "no-change-allowed", "unwritable-changes", "budget-too-small",
        "missing-value-codes", "value-per-row", "spelling-of-texts",
    }  # fmt: skip
    pages = {path.stem for path in Path("docs/diagnostics").glob("*.md")} - {"index"}
    assert pages == {one.slug for one in found}, "every finding has its page, and no page is left over"
    index, site = Path("docs/diagnostics/index.md").read_text(), Path("mkdocs.yml").read_text()
    for one in found:
        assert f"[{one.check}]({one.slug}.md)" in index
        assert f"- {one.check}: diagnostics/{one.slug}.md" in site
        assert Path(f"docs/diagnostics/{one.slug}.md").read_text().startswith(f"# {one.check}\n")
