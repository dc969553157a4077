"""Experiments: they resume, say what is missing, and stand beside the paper's own numbers."""

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from hammingbox import Checkpoint, FullSpace, ThreatModel, TrainConfig, fit, load_checkpoint
from hammingbox.attacks import ATTACKS, Auto, Exhaustive
from hammingbox.errors import FileError, InputError
from hammingbox.evaluation.evaluation import Evaluation
from hammingbox.evaluation.rates import Rate
from hammingbox.report.artefacts.cases import Case, Piece, cases_latex, cases_markdown, row_pieces
from hammingbox.report.artefacts.figures import Bar, trade_off_figure
from hammingbox.report.artefacts.table import Table
from hammingbox.report.artefacts.write_artefacts import write_outcome
from hammingbox.reproduction import EXPERIMENTS, PRESETS, Size, Workspace
from hammingbox.reproduction.attack_table import PAPER
from hammingbox.reproduction.cases import candidate_cases
from hammingbox.reproduction.complexity import AXES, METHODS
from hammingbox.reproduction.victims import IPS, SPLICE_QUICK
from hammingbox.running.store import open_store
from hammingbox.running.tasks import Task
from hammingbox.studies.defence_table import DefenceTable
from hammingbox.studies.grid import DRAWS, plan_grid, run_grid
from hammingbox.studies.plan import passes_a_row
from hammingbox.studies.recipe import Recipe, defended
from hammingbox.studies.statistics import over_seeds
from hammingbox.studies.workspace import defence_of
from toys import ToyVictim, toy_rows, toy_schema
from toys.texts import small_reviews, write_reviews

QUICK = replace(SPLICE_QUICK, training={"epochs": 1, "learning_rate": 1e-2})


@contextmanager
def silent(label: str, rows: int) -> Iterator[Callable[[int, int], None]]:
    yield lambda _done, _fallen: None


class Trainer:
    """Trains as the command line does, and counts how often."""

    def __init__(self) -> None:
        self.trained: list[str] = []

    def __call__(
        self, opened: Task, start: Checkpoint, config: TrainConfig, folder: Path, *, defence=None, threat=None
    ) -> None:
        self.trained.append(folder.name)
        fit(start.victim, opened.splits, config, defence=defence, threat=threat)
        facts = {"defence": repr(defence)} if defence is not None else {}
        Checkpoint(start.victim, start.model, start.settings, opened.splits.schema, facts).save(folder)


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HAMMINGBOX_DATA", raising=False)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with open_store(tmp_path, create=True) as store:
        yield Workspace(tmp_path, store, Trainer(), silent)


def test_every_experiment_has_every_preset_with_attacks_and_victims_that_can_be_made() -> None:
    assert set(EXPERIMENTS) == {
        "attack-table", "complexity", "trade-off", "concentration", "defence-ag", "defence-imdb",
        "defence-imdb-neighbours", "mixture", "trades", "zeta", "defence-curve-ag", "defence-curve-imdb",
        "defence-curve-splice", "cases",
    }  # fmt: skip
    for experiment in EXPERIMENTS.values():
        assert set(experiment.sizes) == set(PRESETS), experiment.name
        for size in experiment.sizes.values():
            assert set(size.attacks) <= ATTACKS.keys()
            for attack, settings in size.attack_settings.items():
                ATTACKS[attack](**settings)
            assert len({(victim.data, victim.label) for victim in size.victims}) == len(size.victims), experiment.name
            for victim in size.victims:
                TrainConfig(**victim.training)
                defence_of(victim)


def test_attack_table_resumes_skips_and_compares(workspace: Workspace) -> None:
    experiment = EXPERIMENTS["attack-table"]
    size = Size(victims=(QUICK, IPS), rows=6, budgets=(1, 4), seeds=2, attacks=("ga", "pcaa", "exhaustive"))
    first = experiment.run(workspace, size)
    (table,) = first.tables
    assert len(table.rows) == 6
    assert any(line.startswith("ips") and "HAMMINGBOX_DATA is not set" in line for line in first.skipped)
    lines = {(row[0], row[1]): row for row in table.rows}
    ga, paper = lines["ga", "1"], PAPER["splice"]["ga"][0]
    assert paper is not None
    assert ga[7] == f"{paper[0]:.1f}"
    # Both numbers are printed rounded, the difference is of the exact ones.
    assert float(ga[9]) == pytest.approx(float(ga[2]) - paper[0], abs=0.1)
    assert ga[3] == "-", "one seed, no interval over seeds"
    assert lines["pcaa", "4"][3] != "-"
    assert lines["exhaustive", "4"][2] == "-"
    assert any("exhaustive at budget 4" in note for note in table.notes)
    runs = workspace.store.runs()
    assert len([run for run in runs if run.rows]) == 2 + 2 * 2 + 1
    again = Workspace(workspace.folder, workspace.store, Trainer(), silent)
    second = experiment.run(again, size)
    assert second.tables == first.tables
    assert [run.seconds for run in workspace.store.runs()] == [run.seconds for run in runs]
    assert again.train.trained == [], "the victim was there"  # type: ignore[attr-defined]
    assert sum(step.rows for step in experiment.plan(again, size)) == 0, "all is recorded"
    more = replace(size, rows=9)
    fresh = Workspace(workspace.folder, workspace.store, Trainer(), silent)
    assert sum(step.rows for step in experiment.plan(fresh, more)) == 3 * (2 + 2 * 2 + 1)
    shared = EXPERIMENTS["trade-off"].run(again, size)
    assert len(workspace.store.runs()) == len(runs), "the figure shows the table's runs"
    assert set(shared.figures) == {"splice-budget1", "splice-budget4"}


def test_defended_victims_are_trained_once_from_one_start(workspace: Workspace) -> None:
    start = replace(QUICK, label="standard")
    quick = {"epochs": 1, "robust_rows": 4}
    size = Size(
        victims=(start, defended("HotFlip", start, "hotflip", budget=1, **quick)),
        rows=8, budgets=(2,), attacks=("ga", "gga", "swap"),
    )  # fmt: skip
    outcome = EXPERIMENTS["defence-ag"].run(workspace, size)
    trained = workspace.train.trained  # type: ignore[attr-defined]
    assert [name.split("-")[2] for name in trained] == ["standard", "hotflip"]
    (table,) = outcome.tables
    errors = {(row[0], row[1]): float(row[2]) for row in table.rows}
    assert len(errors) == 2 * (1 + 3 + 3)
    for victim in ("standard", "HotFlip"):
        of = {attack: error for (name, attack), error in errors.items() if name == f"splice, {victim}"}
        assert of["ga"] >= of["none"]
        fallen = {
            attack: ~e.rows.correct | e.rows.success
            for attack, e in ((a, evaluation_of(workspace, size, victim, a)) for a in size.attacks)
        }
        assert of["strongest of the paper's"] == max(of["ga"], of["gga"])
        assert of["worst of the paper's"] == 100 * (fallen["ga"] | fallen["gga"]).float().mean().item()
        together = fallen["ga"] | fallen["gga"] | fallen["swap"]
        assert of["worst of all"] == 100 * together.float().mean().item()
    assert all(row[5] == "-" for row in table.rows), "the paper has no such table of Splice"
    assert {run.key.defence.partition("(")[0] for run in workspace.store.runs()} == {"standard", "HotFlipTraining"}


def evaluation_of(workspace: Workspace, size: Size, label: str, attack: str) -> Evaluation:
    recipe = next(recipe for recipe in size.victims if recipe.label == label)
    return workspace.evaluate(recipe, attack, size.budgets[0], 0, size.rows)


def test_papers_strongest_attack_is_sought_among_those_that_ran(workspace: Workspace) -> None:
    size = Size(victims=(replace(QUICK, label="standard"),), rows=4, budgets=(1,), attacks=("gga", "hotflip", "swap"))
    paper = {"standard": {"none": 5.0, "gga": 60.0, "hotflip": 50.0, "sa": 90.0}}
    experiment = DefenceTable(name="x", title="x", source="x", sizes={}, paper=paper, paper_data=("splice",))
    (table,) = experiment.run(workspace, size).tables
    papers = {row[1]: row[5] for row in table.rows}
    assert papers["strongest of the paper's"] == "60.0"
    assert papers["worst of the paper's"] == "-", "the paper has no union over attacks"


def test_a_curve_has_a_figure_for_every_budget(workspace: Workspace) -> None:
    size = Size(victims=(QUICK, replace(QUICK, label="again")), rows=6, budgets=(1, 3), attacks=("gga",))
    outcome = EXPERIMENTS["defence-curve-splice"].run(workspace, size)
    assert list(outcome.figures) == ["defence-curve-splice-budget1", "defence-curve-splice-budget3"]
    for table, figure in zip(outcome.tables, outcome.figures.values(), strict=True):
        worst = next(float(row[2]) for row in table.rows if row[1] == "worst of all")
        (axes,) = figure.axes
        assert [line.get_ydata()[0] for line in axes.lines] == pytest.approx([worst, worst], abs=0.05)
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["small CNN", "again"]


def test_only_missing_data_is_skipped(workspace: Workspace) -> None:
    def full(*_args: object, **_settings: object) -> None:
        raise FileError("no space left on the disk")

    size = Size(victims=(QUICK,), rows=2, budgets=(1,), attacks=("gga",))
    with pytest.raises(FileError, match="no space"):
        run_grid(replace(workspace, train=full), size)


def test_a_victim_of_other_defaults_is_not_taken(workspace: Workspace) -> None:
    recipe = defended("HotFlip", QUICK, "hotflip", budget=1, epochs=1, robust_rows=4)
    path = workspace.path(recipe)
    workspace.checkpoint(recipe)
    found = load_checkpoint(path)
    fresh = replace(workspace, _checkpoints={})
    assert fresh.checkpoint(recipe).training == found.training
    for changed in ({"defence": "HotFlipTraining(clean_share=0.123)"}, {"config": {"clip": 77.0}}):
        replace(found, training=found.training | changed).save(path)
        with pytest.raises(InputError, match="defaults have changed"):
            replace(workspace, _checkpoints={}).checkpoint(recipe)


def test_recipes_that_differ_have_folders_of_their_own() -> None:
    one = Recipe(label="a", data="splice", model="cnn")
    assert one.folder == replace(one, label="b").folder
    others = [
        replace(one, model="lstm"), replace(one, training={"epochs": 2}), replace(one, train_rows=5),
        replace(one, model_settings={"dim": 3}), replace(one, defence="padvt"), replace(one, budget=3),
        replace(one, start=one), replace(one, defence_settings={"zeta": 1.0}),
    ]  # fmt: skip
    assert len({recipe.folder for recipe in (one, *others)}) == 1 + len(others)


def test_other_synonyms_make_another_defended_victim_and_other_runs(workspace: Workspace, tmp_path: Path) -> None:
    reviews = small_reviews(80)
    workspace.data_dir = write_reviews(tmp_path / "data", reviews[:48], reviews[48:])
    start = Recipe(label="standard", data="imdb", model="word_cnn", model_settings={"dim": 4, "channels": 4})
    start = replace(start, training={"epochs": 1})
    wordnet, neighbours = (
        (recipe, defended("HotFlip", recipe, "hotflip", budget=1, epochs=1, robust_rows=2))
        for recipe in (start, replace(start, neighbours=True))
    )
    assert wordnet[0].folder == neighbours[0].folder, "it was trained against nobody"
    assert wordnet[1].folder != neighbours[1].folder
    size = Size(victims=wordnet, rows=4, budgets=(1,), attacks=("gga",))
    other = replace(size, victims=neighbours)
    (line, _) = run_grid(workspace, other).skipped
    assert "counterfitted_neighbors" in line
    (workspace.data_dir / "counterfitted_neighbors.json").write_text('{"film": ["movie"]}')
    assert len(run_grid(workspace, size).cells) == 2
    assert sum(step.rows for step in plan_grid(replace(workspace, planned=set()), other) if "gga" in step.what) == 8
    assert len(run_grid(workspace, other).cells) == 2
    assert len({run.key.space_sha256 for run in workspace.store.runs()}) == 2
    assert sum(step.rows for step in plan_grid(replace(workspace, planned=set()), other)) == 0


def test_measured_passes_are_the_formulas(workspace: Workspace) -> None:
    outcome = EXPERIMENTS["complexity"].run(workspace, Size(rows=2))
    (table,) = outcome.tables
    assert len(table.rows) == len(METHODS) * len(AXES)
    for row in table.rows:
        assert row[4] == row[5], f"{row[0]} in {row[3]}"
    growth = {(row[0], row[3]): row[6] for row in table.rows}
    assert growth["pcaa", "n"] == "n^0.00"
    assert growth["pcaa", "ε"] == "1.00^ε"
    assert growth["gsa", "n"] == "n^0.00"
    assert float(growth["gsa", "ε"].removesuffix("^ε")) > 3  # d = 4, and a constant of 3 passes


def test_concentration_shows_kept_and_changed_features(workspace: Workspace) -> None:
    outcome = EXPERIMENTS["concentration"].run(workspace, Size(victims=(QUICK,), rows=6, budgets=(1, 5)))
    (table,) = outcome.tables
    assert [row[:2] for row in table.rows] == [("splice", "1"), ("splice", "5")]
    assert all(0 <= float(row[2]) <= 2 for row in table.rows), "four letters have at most two bits"
    assert list(outcome.figures) == ["splice-pi"]
    axes = outcome.figures["splice-pi"].axes
    assert len(axes) == 6
    changed = [len(a.lines) == 2 for a in axes]  # a second mark stands on a likeliest category that is not the original
    assert changed[3:] == [False, False, True]


def test_cases_show_real_changes(workspace: Workspace) -> None:
    size = Size(victims=(QUICK,), rows=12, budgets=(3,), attacks=("ga",))
    outcome = EXPERIMENTS["cases"].run(workspace, size)
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


def test_plans_estimate_rows_passes_and_time(workspace: Workspace) -> None:
    size = Size(victims=(QUICK, IPS), rows=6, budgets=(1, 4), seeds=2, attacks=("ga", "pcaa", "exhaustive"))
    work = EXPERIMENTS["attack-table"].plan(workspace, size)
    by_name = {step.what: step for step in work}
    training = next(step for name, step in by_name.items() if name.startswith("train"))
    assert training.rows == 2241
    assert training.seconds > 0
    ga = next(step for name, step in by_name.items() if ": ga" in name)
    assert ga.rows == 12
    exact = sum(1 + 60 * 3 + budget * 3 for budget in (1, 4)) * 6
    assert ga.passes == pytest.approx(exact, rel=0.02)  # a clean N leaves four letters to write instead of three
    assert next(step for name, step in by_name.items() if ": pcaa" in name).rows == 24
    assert "refuses budget 4" in next(step for name, step in by_name.items() if ": exhaustive" in name).note
    assert any("skipped" in step.note for step in work)
    assert not workspace.store.runs(), "a plan runs nothing"
    shared = EXPERIMENTS["trade-off"].plan(workspace, size)
    assert sum(step.rows for step in shared) == 0, "the figure needs the table's runs and no others"
    assert workspace.train.trained == []  # type: ignore[attr-defined]
    for experiment in ("complexity", "concentration"):
        assert EXPERIMENTS[experiment].plan(workspace, EXPERIMENTS[experiment].size("smoke"))


@pytest.mark.parametrize("name", ["sa", "ga", "gsa", "gga", "pcaa", "exhaustive"])
def test_estimates_are_exact_where_there_is_a_formula(name: str) -> None:
    schema = toy_schema((4, 4, 4, 4))
    victim = ToyVictim(schema.cardinalities)
    x, y = toy_rows(schema, victim, rows=5)
    attack = ATTACKS[name](leave=False) if name == "pcaa" else ATTACKS[name]()
    threat = ThreatModel(FullSpace(schema), 2)
    found = attack(victim, x, y, threat)
    counts = threat.space.candidates(x).counts.double().mean(0)
    forward, backward = passes_a_row(attack, counts, 2)
    assert found.forward.double().mean().item() == forward
    assert found.backward.double().mean().item() == backward


def test_refused_work_costs_nothing_and_auto_is_cheap_to_estimate() -> None:
    counts = torch.full((20,), 1104.0, dtype=torch.float64)
    assert passes_a_row(ATTACKS["sa"](), counts, 2) == (0.0, 0.0)
    assert passes_a_row(Exhaustive(), counts, 2) == (0.0, 0.0)
    assert passes_a_row(Auto(), counts, 1)[0] == 20 * 1103


def test_attacks_called_deterministic_are() -> None:
    schema = toy_schema((3, 2, 5, 3, 4, 4))
    victim = ToyVictim(schema.cardinalities)
    x, y = toy_rows(schema, victim, rows=20)
    for name in sorted(ATTACKS.keys() - DRAWS):
        one, two = (ATTACKS[name]()(victim, x, y, ThreatModel(FullSpace(schema), 2), seed=s) for s in (0, 1))
        assert torch.equal(one.ids, two.ids), name


def test_intervals_over_seeds() -> None:
    joined = over_seeds([Rate(8, 10), Rate(6, 10), Rate(7, 10)])
    assert joined.mean == pytest.approx(0.7)
    # t(0.975, 2) = 4.303, standard deviation 0.1.
    assert joined.half_width == pytest.approx(4.303 * 0.1 / math.sqrt(3))
    assert joined.rows == Rate(7, 10).interval
    assert over_seeds([Rate(1, 2)]).half_width is None


def test_tables_and_cases_in_every_form(tmp_path: Path) -> None:
    table = Table("50 % of R&D", ("name_1", "ε"), (("a|b", "1"), ("c_d", "2")), notes=("a note",))
    assert r"a\|b" in table.markdown()
    assert re.search(r"\| --- \| ---: \|", table.markdown())
    latex = table.latex("tab:x")
    for part in (
        r"50 \% of R\&D",
        r"name\_1",
        r"$\epsilon$",
        r"\toprule",
        r"\midrule",
        r"\bottomrule",
        r"\label{tab:x}",
    ):
        assert part in latex
    assert table.csv().splitlines() == ["name_1,ε", "a|b,1", "c_d,2"]
    assert row_pieces("ACGT", "ATGA") == (Piece("A"), Piece("T", "C"), Piece("G"), Piece("A", "T"))
    assert row_pieces("ab  ", "a\n  ") == (Piece("a"), Piece("\\n", "b"))
    case = Case("DNA", "row 1", "EI", "N", row_pieces("ACG", "ATG"))
    assert "A**T** (C)G" in cases_markdown([case])
    assert r"A\textcolor{red}{T}(\textcolor{blue}{C})G" in cases_latex([case])

    def write(folder: Path) -> list[Path]:
        figures = {"bars": trade_off_figure("x", [Bar("ga", 50.0, 0.1), Bar("pcaa", 20.0, 0.2)])}
        return write_outcome(folder, "Heading", [table], figures, [case], ["ips: no data"], ["why"])

    files, again = write(tmp_path / "one"), write(tmp_path / "two")
    names = {path.name for path in files}
    assert names == {"README.md", "table-1.tex", "table-1.csv", "cases.tex", "bars.svg", "bars.pdf"}
    for one, two in zip(files, again, strict=True):
        if one.suffix not in (".tex",):  # labels hold the folder's name
            assert one.read_bytes() == two.read_bytes(), f"{one.name} must not depend on when it was written"
    assert (tmp_path / "one" / "bars.pdf").read_bytes().startswith(b"%PDF")
    assert "skipped: ips: no data" in (tmp_path / "one" / "README.md").read_text()
