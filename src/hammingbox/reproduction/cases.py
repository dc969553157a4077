"""The paper's case studies: adversarial texts and their candidate words, and adversarial DNA and news."""

from dataclasses import dataclass

from hammingbox.data import imdb
from hammingbox.data.texts import vocabulary_of
from hammingbox.errors import InputError
from hammingbox.evaluation.rows import Rows
from hammingbox.report.artefacts.cases import Case, Piece, row_pieces
from hammingbox.reproduction.recipes import AG, IMDB_CNN, IMDB_LSTM, SPLICE, SPLICE_QUICK
from hammingbox.studies.grid import plan_grid, run_grid
from hammingbox.studies.plan import Work
from hammingbox.studies.recipe import Recipe
from hammingbox.studies.study import Outcome, Size, Study
from hammingbox.studies.workspace import Workspace
from hammingbox.text.render import changed_text
from hammingbox.text.substitution import Substitution
from hammingbox.text.synonyms import wordnet_table
from hammingbox.text.tagger import default_tagger
from hammingbox.text.tokens import tokenise

_SHOWN = 5
"""Rows per victim, at least one per class."""

SENTENCES = {
    "Synonyms (case 1)": (
        "The cast is excellent, the acting good, the plot interesting, the evolvement full of suspense, but it is hard "
        "to cram all those elements into a film that is barely 80 minutes long."
    ),
    "Grammatical forms (case 2)": (
        "There is great detail in a bug's life. Everything is covered. The film looks great and the animation is "
        "sometimes jaw dropping."
    ),
}
"""The sentences of the paper's two cases, by name."""


@dataclass(frozen=True, kw_only=True)
class CaseStudies(Study):
    """Adversarial rows to read: each change with its original, and the class before and after."""

    def plan(self, workspace: Workspace, size: Size) -> list[Work]:
        """Trainings and attacks."""
        return plan_grid(workspace, size)

    def run(self, workspace: Workspace, size: Size) -> Outcome:
        """Attacks, and shows the broken rows with the fewest changes of each class."""
        grid = run_grid(workspace, size)
        outcome = Outcome(skipped=grid.skipped)
        try:
            outcome.cases += candidate_cases()
        except InputError as error:
            outcome.skipped.append(f"candidate words: {error}")
        for cell in grid.cells:
            if cell.runs:
                rows = workspace.attack(cell.recipe, cell.method(), cell.attack, cell.budget, 0, cell.rows).rows
                outcome.cases += _cases(workspace, cell.recipe, rows, cell.attack, cell.budget)
        return outcome


def candidate_cases() -> list[Case]:
    """The paper's sentences, each word with its candidates.

    Raises:
        InputError: no tagger is installed.
    """
    rules = Substitution(wordnet_table(), default_tagger())
    cases = []
    for name, text in SENTENCES.items():
        tokens = tokenise(text)
        words = [token.word.lower() if token.opens else token.word for token in tokens]
        pieces, done = [], 0
        for number, synonyms in rules.replacements(words):
            token = tokens[number]
            pieces += [Piece(text[done : token.start]), Piece("{" + ", ".join(synonyms) + "}", token.word)]
            done = token.end
        cases.append(Case("What may replace a word", name, "all candidates", "", (*pieces, Piece(text[done:]))))
    return cases


def _cases(workspace: Workspace, recipe: Recipe, rows: Rows, attack: str, budget: int) -> list[Case]:
    """The broken rows with the fewest changes, some of each class."""
    schema = workspace.task(recipe).splits.schema
    group = f"{recipe.name}: {attack}, budget {budget}"
    broken = rows.success.nonzero()[:, 0].tolist()
    chosen = [
        row
        for label in range(len(schema.classes))
        for row in sorted((r for r in broken if int(rows.labels[r]) == label), key=lambda r: int(rows.distance[r]))[
            : max(1, _SHOWN // len(schema.classes))
        ]
    ]
    texts = imdb.texts("test", data_dir=workspace.data_dir) if recipe.data == "imdb" else []
    cases = []
    for row in chosen:
        clean, adversarial = rows.clean[row].tolist(), rows.adversarial[row].tolist()
        number = int(rows.numbers[row])
        if texts:
            changed = changed_text(vocabulary_of(schema), texts[number], clean, adversarial)
            pieces = _text_pieces(changed.marked("\x00{old}\x01{new}\x00"))
        else:
            letters = all(len(category) == 1 for category in schema.features[0].categories)
            pieces = row_pieces(schema.decode(clean), schema.decode(adversarial), "" if letters else " ")
        before, after = schema.classes[int(rows.labels[row])], schema.classes[int(rows.logits[row].argmax())]
        cases.append(Case(group, f"test row {number}", before, after, pieces))
    return cases


def _text_pieces(marked: str) -> tuple[Piece, ...]:
    """Splits a text at the marks around its changes."""
    pieces = []
    for part in marked.replace("<br />", " ").split("\x00"):
        old, mark, new = part.partition("\x01")
        if part:
            pieces.append(Piece(new, old) if mark else Piece(part))
    return tuple(pieces)


CASES = CaseStudies(
    name="cases",
    title="Case studies",
    source="Appendix A.4, Tables 8 and 9",
    sizes={
        "smoke": Size(victims=(SPLICE_QUICK,), rows=20, budgets=(2,), attacks=("pcaa",)),
        "cpu": Size(victims=(IMDB_LSTM, IMDB_CNN, SPLICE, AG), rows=100, budgets=(4,), attacks=("pcaa",)),
        "paper": Size(victims=(IMDB_LSTM, IMDB_CNN, SPLICE, AG), rows=1000, budgets=(4,), attacks=("pcaa",)),
    },
)
