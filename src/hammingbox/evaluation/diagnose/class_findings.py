"""Findings about what a victim makes of the classes of a data set."""

from collections.abc import Sequence

from hammingbox.evaluation.diagnose.finding import SHOWN, Finding, some_names
from hammingbox.evaluation.rates import Rate


def collapsed_victim(answer: str, predicted: int, labelled: int, rows: int) -> Finding:
    """The victim predicts `answer` for `predicted` of `rows` rows, of which only `labelled` have this class."""
    return Finding(
        "collapsed victim",
        "error",
        f"the victim predicts {answer!r} for {predicted} of {rows} rows; {labelled} rows have this class",
        "a model that gives everybody the same answer cannot be broken and is of no use: its robustness means nothing",
        "train it again (weaker defence, smaller budget, class weights, more epochs) and check its encoding of rows",
    )


def never_predicted(names: Sequence[str], labelled: int, rows: int) -> Finding:
    """The victim predicts some classes for no row, although `labelled` of `rows` rows have them."""
    return Finding(
        "class never predicted",
        "warning",
        f"the victim never predicts {some_names(names)}; {labelled} of {rows} rows are of "
        f"{'this class' if len(names) == 1 else 'these classes'}",
        "the victim is wrong on these rows before any attack, so they are not attacked; rates are about the others",
        "train a model that knows every class, or drop the class from the claim",
    )


def worse_than_majority(right: Rate, answer: str, labelled: int) -> Finding:
    """The victim is right on no more rows than one that always answers with the class that most rows have."""
    return Finding(
        "no better than the majority class",
        "error" if right.interval[1] < labelled / right.rows else "warning",
        f"the victim is right on {right.hits} of {right.rows} rows; always answering {answer!r} is right on {labelled}",
        "how hard it is to break such a model says nothing about a model that one would use",
        "check the training, the encoding of the rows and the order of the classes",
    )


def less_accurate_than_majority(right: Rate, answer: str, labelled: int, balanced: float, guessing: float) -> Finding:
    """As `worse_than_majority`, of a victim that knows every class: it gives up accuracy to find the rare ones."""
    return Finding(
        "no better than the majority class",
        "note",
        f"the victim is right on {right.hits} of {right.rows} rows; always answering {answer!r} is right on {labelled}"
        f"; its balanced accuracy is {100 * balanced:.1f} % (guessing: {100 * guessing:.1f} %)",
        "it is less accurate than that answer because it finds the rarer classes: accuracy alone says nothing about it",
        "report recall and robustness by class, or balanced accuracy",
    )


def classes_in_another_order(order: Sequence[tuple[str, str]], right: Rate, fits: int) -> Finding:
    """Predictions fit the labels much better when classes are renamed; pairs are (predicted, meant)."""
    renamed = [f"{said!r} as {meant!r}" for said, meant in order if said != meant]
    return Finding(
        "class order",
        "error",
        f"the victim is right on {right.hits} of {right.rows} rows, and would be right on {fits} if its answers were "
        f"read in another order ({', '.join(renamed[:SHOWN])}{', ...' if len(renamed) > SHOWN else ''})",
        "the columns of the victim's answers stand for other classes than the schema says; every rate is wrong",
        "put the columns into the order of schema.classes, or name the classes in the order of the columns",
    )


def absent_class(names: Sequence[str], rows: int) -> Finding:
    """No row has some of the classes that could be attacked."""
    return Finding(
        "absent class",
        "warning",
        f"none of the {rows} rows is of class {some_names(names)}",
        "nothing is known about rows of such a class; the rates are about the other classes only",
        "attack more rows, or rows that are drawn from every class",
    )


def class_not_attacked(names: Sequence[str], labelled: int) -> Finding:
    """The victim is wrong on every one of the `labelled` rows of some classes, so none of them is attacked."""
    return Finding(
        "class not attacked",
        "warning",
        f"the victim is wrong on all {labelled} rows of class {some_names(names)}, so none of them was attacked",
        "the success rate is about the other classes only",
        "report the rates by class; attack more rows; check whether the victim has learnt this class",
    )
