"""The report in a real headless browser: it opens, filters, works with a keyboard, and its numbers are the store's."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from hammingbox.data.dataset import Dataset
from hammingbox.evaluation.rows import Rows
from hammingbox.report.page.folder import write_report
from hammingbox.report.page.page import Contents, write_page
from hammingbox.report.recorded_plausibility import note_plausibility
from hammingbox.running.store import open_store
from hammingbox.text.tokens import join_words
from toys import toy_schema
from toys.browser import Page, browser, needs_browser
from toys.result_folders import HOSTILE, LETTERS, TABLE, TEXT, fill, stored
from toys.result_sets import toy_results

pytestmark = needs_browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(autouse=True)
def silent(page: Page) -> Iterator[None]:
    """Whatever a test does, the console stays empty and nothing but the file is requested."""
    page.errors.clear()
    page.requests.clear()
    yield
    page.run("0")  # events that are still under way
    assert page.errors == []
    assert [url for url in page.requests if not url.startswith(("file:", "blob:"))] == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("results")
    fill(made, LETTERS, budgets=(1, 2, 3))
    write_report(made)
    return made


def show(page: Page, folder: Path, **looks: object) -> None:
    page.open(folder / "report.html", **looks)  # type: ignore[arg-type]
    page.run("document.querySelector('.rows').scrollIntoView()")
    page.wait("/of .* rows:/.test(document.querySelector('.found').textContent)")


def choose(page: Page, **wanted: object) -> tuple[int, ...]:
    """Sets filters as a user does and reads what the page counts: (broken, proven, unknown, wrong before)."""
    page.run("document.querySelector('form button[type=reset]').click()")
    for name, value in {"status": "", **wanted}.items():
        page.run(
            f"(() => {{ const field = document.querySelector('form').elements['{name}']; field.value = '{value}';"
            "field.dispatchEvent(new Event('input', {bubbles: true})); })()"
        )
    page.run("new Promise((done) => setTimeout(done, 250))")  # a search waits until one stops typing
    text = page.run("document.querySelector('.found').textContent")
    found = re.search(r"rows: ([\d,]+) broken, ([\d,]+) proven, ([\d,]+) unknown, ([\d,]+) wrong before", text)
    assert found is not None, text
    return tuple(int(count.replace(",", "")) for count in found.groups())


def counts(parts: list[Rows]) -> tuple[int, ...]:
    rows = Rows.join(parts)
    return tuple(int(mask.sum()) for mask in (rows.success, rows.proven, rows.unknown, ~rows.correct))


def test_filters_count_what_the_store_counts(page: Page, folder: Path) -> None:
    show(page, folder)
    runs = stored(folder)
    assert choose(page) == counts([rows for *_, rows in runs])
    names = list(dict.fromkeys(name for name, *_ in runs))
    for name, budget, rows in runs:
        assert choose(page, attack=names.index(name), budget=budget) == counts([rows])
    for feature in (0, 5):
        touched = [rows.take((rows.clean != rows.adversarial)[:, feature].nonzero()[:, 0]) for *_, rows in runs]
        assert choose(page, feature=feature) == counts(touched)
    for kind in (0, 1):
        assert choose(page, label=kind) == counts(
            [rows.take((rows.labels == kind).nonzero()[:, 0]) for *_, rows in runs]
        )
        became = [rows.take((rows.logits.argmax(1) == kind).nonzero()[:, 0]) for *_, rows in runs]
        assert choose(page, predicted=kind) == counts(became)
    number = int(runs[0][2].numbers[11])
    assert choose(page, search=f"#{number}") == counts(
        [rows.take((rows.numbers == number).nonzero()[:, 0]) for *_, rows in runs]
    )


def test_search_finds_stretches_of_the_clean_row(page: Page, folder: Path) -> None:
    show(page, folder)
    found = []
    for *_, rows in stored(folder):
        keep = []
        for i in range(len(rows)):
            clean = "".join(LETTERS.decode(rows.clean[i].tolist()))
            keep.append("ACG" in clean)
        found.append(rows.take(rows.labels.new_tensor(keep).nonzero()[:, 0]))
    assert choose(page, search="acg") == counts(found)
    assert sum(counts(found)) > 0


def test_the_status_filter_finds_proven_and_unknown_rows(page: Page, tmp_path: Path) -> None:
    results = toy_results(LETTERS, attacks=("hotflip", "exhaustive"), budgets=(1, 2))
    write_page(Contents([results], [[]]), tmp_path / "report.html")
    show(page, tmp_path)
    hotflip, exhaustive = (list(results.select(attack=name)) for name in ("hotflip", "exhaustive"))
    proven = sum(int(run.proven.sum()) for run in exhaustive)
    unknown = sum(int((run.attacked & ~run.broken).sum()) for run in hotflip)
    assert proven > 0
    assert unknown > 0
    assert choose(page, status=1) == (0, proven, 0, 0)
    assert page.run("[...document.querySelectorAll('.tag')].every((e) => e.textContent === 'proven')")
    assert choose(page, status=2) == (0, 0, unknown, 0)
    assert choose(page, status=3) == (0, 0, 0, 3 * 4)
    page.run("document.querySelector('.attacks a').click()")
    page.wait("document.querySelector('form').elements.status.value === '0'")


def test_a_row_shows_its_changes_and_its_probabilities(page: Page, folder: Path) -> None:
    show(page, folder)
    name, budget, rows = stored(folder)[2]
    i = int(rows.success.nonzero()[0, 0])
    choose(page, attack=0, budget=budget, status=0, search=f"#{int(rows.numbers[i])}")
    assert (name, page.run("document.querySelectorAll('.entry').length")) == ("ga", 1)
    clean, written = LETTERS.decode(rows.clean[i].tolist()), LETTERS.decode(rows.adversarial[i].tolist())
    old_and_new = "".join(a if a == b else a + b for a, b in zip(clean, written, strict=True))
    assert page.run("document.querySelector('.written').textContent") == old_and_new
    listed = [f"base {k + 1}: {a} → {b}" for k, (a, b) in enumerate(zip(clean, written, strict=True)) if a != b]
    assert page.run("[...document.querySelectorAll('.changes li')].map((e) => e.textContent)") == listed
    cells = page.run(
        "[...document.querySelectorAll('.probabilities tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
    )
    shown = {kind.removesuffix(" (true)"): (before, after) for kind, before, after in cells}
    before, after = rows.clean_logits[i].double().softmax(0).tolist(), rows.logits[i].double().softmax(0).tolist()
    for kind, b, a in zip(LETTERS.classes, before, after, strict=True):
        for text, value in zip(shown[kind], (b, a), strict=True):
            assert abs(float(text.removeprefix("< ").removesuffix(" %")) - 100 * value) <= 0.1001


def test_a_class_that_is_not_listed_has_no_more_than_the_page_says(page: Page, tmp_path: Path) -> None:
    schema = toy_schema((3, 2, 5, 3, 4), classes=8)
    fill(tmp_path, schema, attacks=("random",), budgets=(3,))
    write_report(tmp_path)
    show(page, tmp_path)
    ((*_, rows),) = stored(tmp_path)
    place = {number: i for i, number in enumerate(rows.numbers.tolist())}
    choose(page)
    entries = page.run(
        "[...document.querySelectorAll('.entry')].map((e) => [e.querySelector('strong').textContent,"
        "[...e.querySelectorAll('.probabilities tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))])"
    )
    beyond = 0
    for name, lines in entries:
        i = place[int(name.removeprefix("#"))]
        answers = [logits[i].double().softmax(0) for logits in (rows.clean_logits, rows.logits)]
        for kind, *cells in lines:
            for text, answer in zip(cells, answers, strict=True):
                value = 100 * answer[schema.classes.index(kind.removesuffix(" (true)"))].item()
                limit = float(text.removeprefix("< ").removeprefix("\N{LESS-THAN OR EQUAL TO} ").removesuffix(" %"))
                assert value <= limit + 0.0501
                beyond += text.startswith("\N{LESS-THAN OR EQUAL TO}") and value > 0.1
                assert not text[0].isdigit() or abs(value - limit) <= 0.0501
    assert beyond, "the case this is about"


def test_pages_turn_and_a_number_of_the_table_leads_to_its_rows(page: Page, folder: Path) -> None:
    show(page, folder)
    total = sum(choose(page))
    first = page.run("document.querySelector('.entry').textContent")
    pages = -(-total // 20)
    assert page.run("document.querySelector('.found').textContent").endswith(f"; page 1 of {pages}")
    page.run("document.querySelector('[data-go=next]').click()")
    assert page.run("document.querySelector('.entry').textContent") != first
    page.run("document.querySelector('[data-go=last]').focus()")
    page.run("document.querySelector('[data-go=last]').click()")
    assert page.run("document.querySelectorAll('.entry').length") == (total % 20 or 20)
    assert page.run("document.querySelector('[data-go=next]').disabled")
    assert page.run("document.activeElement.className") == "entries", "the button is switched off, focus is not lost"
    assert page.run("document.querySelector('.found').textContent").endswith(f"; page {pages} of {pages}")
    top = "document.querySelector('.found').getBoundingClientRect().top"
    page.wait(f"{top} >= -1 && {top} < innerHeight / 2")
    page.run("document.querySelectorAll('.attacks a')[4].click()")
    page.wait("document.querySelector('form').elements.attack.value === '1'")
    name, budget, rows = stored(folder)[4]
    assert page.run("document.querySelector('form').elements.budget.value") == str(budget)
    assert page.run("document.querySelector('.found').textContent").startswith(
        f"{int(rows.success.sum())} of {total} rows"
    )
    assert name == "hotflip"


def test_order(page: Page, folder: Path) -> None:
    show(page, folder)
    numbers = "[...document.querySelectorAll('.facts')].map((e) => +e.textContent.match(/(\\d+) change/)[1])"
    choose(page, status=0, order="-changes")
    most = page.run(numbers)
    assert most == sorted(most, reverse=True)
    assert most[0] == 3
    choose(page, status=0, order="changes")
    assert page.run(numbers)[0] == 1


def test_the_keyboard_reaches_everything_in_order(page: Page, folder: Path) -> None:
    show(page, folder)
    # Newer browsers go on from the element that was focused last, or that the address names, and not from the top.
    page.run("document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex')")
    reached = []
    for _ in range(200):
        page.press("Tab")
        facts = page.run(
            "(() => { const e = document.activeElement; return [e.tagName, e.name || e.dataset.go || '',"
            "e.getAttribute('aria-label') || e.labels?.[0]?.textContent || e.textContent] })()"
        )
        if facts[0] == "BODY":
            break
        assert facts[2].strip(), f"{facts} has no name"
        reached.append(facts[:2])
    assert reached[0][0] == "A", "the link that skips to the results comes first"
    fields = [name for tag, name in reached if tag in ("SELECT", "INPUT") and name]
    assert fields == ["attack", "budget", "status", "label", "predicted", "feature", "order", "search"]
    assert ["BUTTON", "next"] in reached
    page.run("document.querySelector('.attacks a').focus()")
    page.press("Enter")
    page.wait("document.querySelector('form').elements.attack.value === '0'")
    page.run("document.querySelector('.legend button').focus()")
    page.press(" ")
    assert page.run("document.querySelector('.curves').classList.contains('picked')")


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_nothing_hangs_over_the_edge(page: Page, folder: Path, width: int) -> None:
    show(page, folder, width=width)
    assert page.run("document.documentElement.scrollWidth") <= width


CONTRAST = """
(() => {
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const colour = rgb(getComputedStyle(e).backgroundColor);
      if (colour[3] !== 0) return colour;
    }
    return [255, 255, 255];
  };
  const weak = new Set();
  const texts = 'p, th, td, li, a, small, del, ins, b, label, button:not(:disabled), figcaption, .tag, summary';
  for (const e of document.querySelectorAll(texts)) {
    if (!e.checkVisibility() || !e.textContent.trim()) continue;
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) weak.add(`${e.tagName} ${e.className}: ${ratio}`);
  }
  return [...weak];
})()
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_is_readable(page: Page, folder: Path, dark: bool) -> None:
    show(page, folder, dark=dark)
    background = page.run("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 200) == dark
    assert page.run(CONTRAST) == []


def test_a_hostile_category_is_only_text(page: Page, tmp_path: Path) -> None:
    fill(tmp_path, HOSTILE, data="<img src=x onerror=window.pwned=3>")
    write_report(tmp_path)
    show(page, tmp_path)
    assert sum(choose(page)) == 3 * 2 * 30
    assert page.run("typeof window.pwned") == "undefined"
    choose(page, feature=2)
    assert re.search(
        r"shop: \((empty|space)\) →|→ \((empty|space)\)", page.run("document.querySelector('.entries').textContent")
    )
    choose(page)
    assert page.run("document.querySelectorAll('article script, article img, article b b').length") == 0
    assert "<script>window.pwned=1</script>" in page.run("document.querySelector('.entries').textContent")


def test_several_victims_and_tables(page: Page, tmp_path: Path) -> None:
    fill(tmp_path, TABLE, victims=("plain", "defended"), seeds=(0, 1))
    write_report(tmp_path)
    show(page, tmp_path)
    with open_store(tmp_path) as store:
        runs = [(run.victim, run.key.seed, store.rows(run.id)) for run in store.runs()]
    assert choose(page, victim=1, seed=1) == counts([rows for v, s, rows in runs if (v, s) == ("runs/defended", 1)])
    assert page.run("document.querySelector('[id^=victims-table] tbody').rows.length") == 2
    assert page.run("document.querySelector('.written').textContent") == "", "a table shows only what changed"
    assert re.match(r"f\d: c\d → c\d", page.run("document.querySelector('.changes li').textContent"))


def test_a_text_is_written_as_the_package_writes_it(page: Page, tmp_path: Path) -> None:
    fill(tmp_path, TEXT, attacks=("ga",), budgets=(2,))
    write_report(tmp_path)
    show(page, tmp_path)
    ((*_, rows),) = stored(tmp_path)
    clean_text = (
        "(() => { const copy = document.querySelector('.written').cloneNode(true);"
        "for (const e of copy.querySelectorAll('ins, button')) e.remove(); return copy.textContent; })()"
    )
    for i in range(3, 9):
        choose(page, search=f"#{int(rows.numbers[i])}")
        words = list(TEXT.decode(rows.clean[i].tolist()))
        while words[-1] == "<pad>":
            words.pop()
        whole = join_words(words).replace("<br />", "\N{PILCROW SIGN}")
        pieces = page.run(clean_text).split("\N{HORIZONTAL ELLIPSIS}")
        assert len(pieces) > 1, "words far from a change are left out at first"
        assert [piece for piece in pieces if piece.strip() not in whole] == [], whole
        page.run("document.querySelector('.more').focus()")
        page.run("document.querySelector('.more').click()")
        assert page.run(clean_text) == whole
        assert page.run("document.activeElement.className") == "written words", "where the button was"


def test_print_opens_every_detail(page: Page, folder: Path, tmp_path: Path) -> None:
    page.open(folder / "report.html")
    page.wait("document.querySelector('.entry') !== null")  # nobody has to go there first
    closed = "document.querySelectorAll('details:not([open]):not(.noprint)').length"
    assert page.run(closed) > 0
    rows = "document.querySelectorAll('.entry').length"
    page.run("window.seen = []")
    page.run(f"addEventListener('beforeprint', () => {{ window.seen = [{closed}, {rows}]; }})")
    page.pdf(tmp_path / "page.pdf")
    assert page.run("window.seen") == [0, 20]
    assert page.run(closed) > 0, "closed again afterwards"
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def test_an_old_browser_and_one_without_scripts_get_a_message(page: Page, folder: Path) -> None:
    script = page.send("Page.addScriptToEvaluateOnNewDocument", source="delete window.DecompressionStream")
    page.open(folder / "report.html")
    page.run("document.querySelector('.rows').scrollIntoView()")
    page.wait("document.querySelector('.found').textContent.includes('too old to unpack')")
    page.send("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])
    page.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.send("Page.reload")
        page.wait("document.querySelector('noscript p')?.checkVisibility()")
        assert page.run("document.querySelectorAll('svg.chart').length") >= 3
    finally:
        page.send("Emulation.setScriptExecutionDisabled", value=False)


def test_a_row_says_how_odd_it_is(page: Page, tmp_path: Path) -> None:
    fill(tmp_path, TABLE)
    ids = torch.randint(0, 2, (300, len(TABLE.features)), generator=torch.Generator().manual_seed(0))
    with open_store(tmp_path, readonly=True) as store:
        note_plausibility(store, tmp_path, Dataset(TABLE, ids, torch.arange(300) % len(TABLE.classes)))
    write_report(tmp_path)
    show(page, tmp_path)
    choose(page, status="0", order="odd")
    shown = page.run("[...document.querySelectorAll('.entry .facts')].map((e) => e.textContent)")
    pairs = [0 if "no unseen pair" in text else int(re.search(r"(\d+) unseen pair", text)[1]) for text in shown]
    assert pairs == sorted(pairs)
    assert all(re.search(r"\d+ % of the \S.* rows are more typical", text) for text in shown)
