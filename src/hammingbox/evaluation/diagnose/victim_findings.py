"""Findings about what a victim's answers and gradients show, and about how it is asked."""

from hammingbox.evaluation.diagnose.finding import Finding, Severity


def train_mode(modules: int, spread: float) -> Finding:
    """Some modules are in train mode, and it changes the answers by up to `spread`."""
    return Finding(
        "train mode",
        "warning",
        f"{modules} modules are in train mode and two passes over the same rows differ by up to {spread:.3g}",
        "dropout or batch statistics are active; hammingbox attacks in eval mode, your own scores may not",
        "call victim.eval() before you measure accuracy",
    )


def not_finite_logits(bad: int, rows: int) -> Finding:
    """`bad` of `rows` rows have logits that are not numbers."""
    return Finding(
        "finite logits",
        "error",
        f"{bad} of {rows} rows have NaN or infinite logits",
        "no attack can compare losses that are not numbers",
        "check the weights and the encoding of the rows",
    )


def not_deterministic(spread: float, between: str) -> Finding:
    """Logits of the same rows differ by up to `spread` between what `between` names, such as "two runs"."""
    return Finding(
        "deterministic victim",
        "error",
        f"logits of the same rows differ by up to {spread:.3g} between {between}",
        "randomness can hide a weakness: a row that survives one random pass is not robust",
        "switch the randomness off, or average over it inside the victim and attack the average",
    )


def probabilities_as_logits(severity: Severity) -> Finding:
    """Every answer is not negative and sums to 1."""
    return Finding(
        "logits",
        severity,
        "every answer is not negative and sums to 1",
        "these look like probabilities: a second softmax makes gradients vanish and confident rows tie",
        "drop the victim's final softmax, or use BlackBox if you cannot",
    )


def saturated_softmax(certain: int, rows: int) -> Finding:
    """`certain` of `rows` clean rows have a probability of exactly 1."""
    return Finding(
        "saturated softmax",
        "note",
        f"{certain} of {rows} clean rows have a probability of exactly 1 in float32",
        "cross entropy and its gradient are 0 there; a search on probabilities cannot compare changes",
        "keep the margin loss (the default of every attack here)",
    )


def not_finite_gradients(bad: int, rows: int) -> Finding:
    """`bad` of `rows` rows have NaN gradients."""
    return Finding(
        "finite gradients",
        "error",
        f"{bad} of {rows} rows have NaN gradients",
        "gradient attacks cannot move on these rows and will look weak",
        "look for a division by zero, a logarithm of zero or a square root at zero in the victim",
    )


def zero_gradients(dead: int, rows: int) -> Finding:
    """The gradient of `dead` of `rows` rows is 0 in every allowed change."""
    return Finding(
        "zero gradients",
        "warning",
        f"{dead} of {rows} rows have a gradient of exactly 0 in every change",
        "gradients are masked (rounding, argmax, saturation) and tell gradient attacks nothing about these rows",
        "trust gradient-free attacks (ga, genetic, exhaustive) for these rows",
    )


def misleading_gradients(correlation: float) -> Finding:
    """First-order gains rank single changes differently from their true gains."""
    return Finding(
        "soft against discrete",
        "warning",
        f"first-order gains and true gains of single changes have a rank correlation of {correlation:.2f}",
        "the victim is far from linear between categories: methods that rely on one gradient are misled",
        "prefer pcaa (many gradients, real draws) and searches on true losses over hotflip, gsa and gga",
    )


def many_ties(ties: int, rows: int) -> Finding:
    """The two largest probabilities of `ties` of `rows` rows are equal."""
    return Finding(
        "ties",
        "note",
        f"{ties} of {rows} rows have two classes that are equally probable",
        "the model's own `predict` takes the first of its classes then, and so does every rate here",
        "look at rates with and without such rows if they are many",
    )


def model_note(note: str) -> Finding:
    """Something about how a model of another library is asked."""
    return Finding(
        "how the model is asked",
        "note",
        note,
        "results are about the model as it is asked here",
        "compare the accuracy here with the one you know; if they differ, say `classes`, `takes` or `returns` "
        "in Python, or in a .columns.json file next to the model",
    )
