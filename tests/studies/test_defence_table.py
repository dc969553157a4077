"""Defence tables: errors of every line over its trainings, orders, ratios, costs, and the paper's numbers."""

from dataclasses import replace
from typing import Any

import pytest
from matplotlib.container import ErrorbarContainer

from hammingbox.attacks import ATTACKS
from hammingbox.errors import InputError
from hammingbox.report.artefacts.table import Interval, Table, Value
from hammingbox.studies.defence_table import DefenceTable
from hammingbox.studies.recipe import defended
from hammingbox.studies.study import Size
from hammingbox.studies.workspace import Workspace
from toys.studies import QUICK, CountingTrainer, number

TABLE = DefenceTable(name="x", title="x", source="x", sizes={})
START = replace(QUICK, label="standard")
SHORT: dict[str, Any] = {"epochs": 1, "robust_rows": 4, "train_rows": 256}


def by_line(table: Table) -> dict[tuple[Value, Value], dict[str, Value]]:
    """The rows of a table by victim and attack."""
    lines = [dict(zip(table.headings, row, strict=True)) for row in table.rows]
    return {(line["victim"], line["attack"]): line for line in lines}


def test_errors_of_single_attacks_and_of_all_together(workspace: Workspace, trainer: CountingTrainer) -> None:
    size = Size(
        victims=(START, defended("HotFlip", START, "hotflip", budget=1, **SHORT)),
        rows=6, budgets=(2,), attacks=("ga", "gga", "swap"),
    )  # fmt: skip
    table, ratios, trainings = TABLE.run(workspace, size).tables
    assert [name.split("-")[2] for name in trainer.trained] == ["standard", "hotflip"]
    errors = {line: number(values["error %"]) for line, values in by_line(table).items()}
    assert len(errors) == 2 * (1 + 3 + 3)
    for recipe in size.victims:
        of = {attack: error for (name, attack), error in errors.items() if name == recipe.name}
        assert of["ga"] >= of["none"]
        found = {
            attack: workspace.attack(recipe, ATTACKS[attack](), attack, 2, 0, size.rows).rows for attack in size.attacks
        }
        wrong = {attack: ~rows.correct | rows.success for attack, rows in found.items()}
        assert of["strongest of the paper's"] == pytest.approx(max(of["ga"], of["gga"]))
        union = (wrong["ga"] | wrong["gga"]).double().mean().item()
        assert of["worst of the paper's"] == pytest.approx(100 * union)
        together = wrong["ga"] | wrong["gga"] | wrong["swap"]
        assert of["worst of all"] == pytest.approx(100 * together.double().mean().item())
    for heading in ("paper %", "diff.", "± trainings"):
        assert set(table.column(heading)) == {None}, "no such table in the paper, one training"
    assert set(table.column("trainings")) == {1}
    assert set(table.column("rows")) == {6}
    assert {run.key.defence.partition("(")[0] for run in workspace.store.runs()} == {"standard", "HotFlipTraining"}
    assert set(ratios.column("over")) == {START.name}
    ratio = dict(zip(ratios.column("attack"), ratios.column("ratio"), strict=True))
    assert ratio["ga"] == pytest.approx(errors["splice, HotFlip", "ga"] / errors["splice, standard", "ga"])
    assert trainings.column("victim") == ["splice, standard", "splice, HotFlip"]
    assert all(number(seconds) > 0 for seconds in trainings.column("seconds"))
    standard_cost, hotflip_cost = trainings.column("cost of a step")
    assert standard_cost is None
    assert number(hotflip_cost) > 1


def test_a_line_is_the_mean_of_its_trainings(workspace: Workspace) -> None:
    start = replace(START, trainings=3, train_rows=256)
    size = Size(
        victims=(start, defended("again", start, "standard", budget=1, epochs=1, robust_rows=2)),
        rows=8, budgets=(1,), seeds=2, attacks=("gga", "swap"), attack_rows={"swap": 5},
    )  # fmt: skip
    study = replace(TABLE, compared=(("again", "standard"),))
    outcome = study.run(workspace, size)
    table, order, ratios, trainings = outcome.tables
    lines = by_line(table)
    assert len(lines) == 2 * (1 + 2 + 4), "one line for all trainings; one more for the attacks on all rows"
    gga = lines["splice, standard", "gga"]
    errors = [
        100 * workspace.evaluate(start.seeded(seed), ATTACKS["gga"](), "gga", 1, 0, 8).robust_error.value
        for seed in range(3)
    ]  # fmt: skip
    assert number(gga["error %"]) == pytest.approx(sum(errors) / 3)
    assert (gga["trainings"], gga["rows"], gga["± seeds"]) == (3, 8, None)
    assert number(gga["± trainings"]) >= 0
    swap = lines["splice, standard", "swap"]
    assert (swap["rows"], lines["splice, standard", "worst of all"]["rows"]) == (5, 5)
    assert lines["splice, standard", "worst of all, on all rows"]["rows"] == 8
    assert swap["± seeds"] is not None
    assert set(order.column("lower")) == {"splice, again"}
    assert set(order.column("trainings")) == {3}
    assert set(order.column("order")) <= {"supported", "not supported", "opposite supported"}
    differences = dict(zip(order.column("attack"), order.column("difference"), strict=True))
    again = number(lines["splice, again", "gga"]["error %"])
    assert differences["gga"] == pytest.approx(again - number(gga["error %"]))
    assert set(ratios.column("trainings")) == {3}
    assert trainings.column("trainings") == [3, 3]
    assert any("8 test rows" in note and "seeds 0 to 2" in note for note in outcome.notes)


def test_the_papers_strongest_attack_is_chosen_among_those_that_ran(workspace: Workspace) -> None:
    size = Size(victims=(START,), rows=4, budgets=(1,), attacks=("gga", "hotflip", "swap"))
    paper = {"standard": {"none": 5.0, "gga": 60.0, "hotflip": 50.0, "sa": 90.0}}
    table, _ = replace(TABLE, paper=paper, paper_data=("splice",)).run(workspace, size).tables
    papers = dict(zip(table.column("attack"), table.column("paper %"), strict=True))
    assert papers["strongest of the paper's"] == 60.0
    assert papers["worst of the paper's"] is None, "the paper has no union over attacks"
    for values in by_line(table).values():
        error, of_paper, difference = (values[name] for name in ("error %", "paper %", "diff."))
        assert difference == (None if of_paper is None else number(error) - number(of_paper))


def test_the_papers_numbers_stand_only_at_their_budget(workspace: Workspace) -> None:
    size = Size(victims=(START,), rows=4, budgets=(1, 2), attacks=("gga",))
    study = replace(
        TABLE, title="Defences", figure="Figure 4", paper={"standard": {"none": 5.0, "gga": 60.0}},
        paper_data=("splice",), paper_budget=2,
    )  # fmt: skip
    outcome = study.run(workspace, size)
    papers = [dict(zip(table.column("attack"), table.column("paper %"), strict=True)) for table in outcome.tables[:2]]
    assert (papers[0]["none"], papers[0]["gga"]) == (5.0, None)
    assert (papers[1]["none"], papers[1]["gga"]) == (5.0, 60.0)
    titles = [outcome.figures[f"errors-budget{budget}"].get_suptitle() for budget in size.budgets]
    assert ["Figure 4" in title for title in titles] == [False, True]


def test_the_papers_differences_and_ratios(workspace: Workspace) -> None:
    size = Size(victims=(START, defended("PAdvT", START, "standard", budget=1, **SHORT)), rows=4, budgets=(1,),
                attacks=("gga",))  # fmt: skip
    paper = {"standard": {"none": 5.0, "gga": 80.0}, "PAdvT": {"none": 7.0, "gga": 50.0}}
    study = replace(TABLE, paper=paper, paper_data=("splice",), compared=(("PAdvT", "standard"),))
    _, order, ratios, _ = study.run(workspace, size).tables
    assert dict(zip(order.column("attack"), order.column("paper"), strict=True))["none"] == pytest.approx(2.0)
    assert dict(zip(ratios.column("attack"), ratios.column("paper"), strict=True))["gga"] == pytest.approx(0.625)


def test_a_pair_that_names_no_line_is_refused() -> None:
    sizes = {"smoke": Size(victims=(START, replace(START, label="PAdvT")))}
    replace(TABLE, sizes=sizes, compared=(("PAdvT", "standard"),))
    with pytest.raises(InputError, match="no preset of x"):
        replace(TABLE, sizes=sizes, compared=(("PAdvT", "standart"),))


def test_figures_show_the_numbers_of_the_table(workspace: Workspace) -> None:
    lines = tuple(replace(QUICK, label=f"small CNN, {name}") for name in ("standard", "PAdvT"))
    size = Size(victims=lines, rows=5, budgets=(1, 3), attacks=("gga", "exhaustive"))
    paper = {"small CNN, PAdvT": {"gga": 44.0}}
    study = replace(TABLE, title="Defences", figure="Figure 3", paper=paper, paper_data=("splice",))
    outcome = study.run(workspace, size)
    assert list(outcome.figures) == ["errors-budget1", "errors-budget3", "errors-by-budget"]
    tables = {1: by_line(outcome.tables[0]), 3: by_line(outcome.tables[1])}
    bars = outcome.figures["errors-budget3"]
    assert bars.get_suptitle() == "Defences: error under each attack, budget 3 (Figure 3 of the paper)"
    (axes,) = bars.axes
    assert axes.get_title() == "splice, small CNN"
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["none", "gga", "exhaustive", "worst of all"]
    heights = {
        str(group.get_label()): [patch.get_height() for patch in group.patches]
        for group in axes.containers
        if hasattr(group, "patches")
    }
    for name in ("standard", "PAdvT"):
        ran = [tables[3][f"splice, small CNN, {name}", attack]["error %"] for attack in ("none", "gga", "worst of all")]
        assert heights[name] == pytest.approx(ran), "enumeration refuses budget 3 and has no bar"
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert sorted(texts) == sorted(["standard", "PAdvT", "the paper's"])
    (curves,) = outcome.figures["errors-by-budget"].axes
    (drawn,) = (c for c in curves.containers if isinstance(c, ErrorbarContainer) and c.get_label() == "PAdvT")
    worst = [tables[budget]["splice, small CNN, PAdvT", "worst of all"]["error %"] for budget in (1, 3)]
    assert drawn.lines[0] is not None
    assert drawn.lines[0].get_ydata() == pytest.approx(worst)
    assert [tick.get_text() for tick in curves.get_xticklabels()] == ["1", "3"]


def test_every_number_has_an_interval_over_rows(workspace: Workspace) -> None:
    size = Size(victims=(START,), rows=5, budgets=(1,), attacks=("gga",))
    for line in by_line(TABLE.run(workspace, size).tables[0]).values():
        interval = line["± rows"]
        assert isinstance(interval, Interval)
        assert interval.low <= number(line["error %"]) <= interval.high
