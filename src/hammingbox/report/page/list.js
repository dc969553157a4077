// The list of rows of each result set: loaded when the browser is idle, filtered by the form, shown in pages.

const PAGE = 20;

function mount(article) {
  const section = article.querySelector(".rows");
  const form = section.querySelector("form");
  const status = section.querySelector(".found");
  const list = section.querySelector(".entries");
  const pager = section.querySelector(".pager");
  const page = pager.querySelector("input");
  const names = ["victim", "attack", "budget", "seed", "status", "label", "predicted", "feature", "order", "search"];
  let rows = null;
  let loading = null;
  let found = [];
  let counted = "";
  let several = false;
  let seeds = false;

  function load() {
    loading ??= (async () => {
      if (typeof DecompressionStream === "undefined") {
        status.textContent =
          "This browser is too old to unpack the rows: use Chromium 97, Firefox 113, Safari 16.4 or later. All rows are in the results file in this page's folder.";
        return;
      }
      status.textContent = "Loading the rows \u2026";
      rows = new Rows(await unpack(document.getElementById(`packed-${article.dataset.results}`).textContent));
      several = rows.victims.length > 1;
      seeds = new Set(rows.runs.map((run) => run.seed)).size > 1;
      apply();
    })();
    return loading;
  }

  function apply() {
    if (!rows) return;
    const wanted = Object.fromEntries(names.map((name) => [name, form.elements[name]?.value ?? ""]));
    found = rows.select(wanted);
    const counts = rows.statuses.map(() => 0);
    for (const row of found) counts[rows.status[row]]++;
    const rare = rows.statuses.length - 2; // rows that are not attackable or not attacked
    const parts = rows.statuses
      .map((name, i) => (i < rare || counts[i] ? `${number.format(counts[i])} ${name}` : ""))
      .filter(Boolean);
    counted = `${number.format(found.length)} of ${number.format(rows.length)} rows: ${parts.join(", ")}`;
    show(1);
  }

  function show(wanted) {
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    const now = Math.min(Math.max(1, Math.trunc(wanted) || 1), pages);
    page.value = String(now);
    page.max = String(pages);
    pager.hidden = found.length === 0;
    status.textContent = pages > 1 ? `${counted}; page ${number.format(now)} of ${number.format(pages)}` : counted;
    pager.querySelector("output").textContent = number.format(pages);
    for (const button of pager.querySelectorAll("button")) {
      button.disabled = ["first", "previous"].includes(button.dataset.go) ? now === 1 : now === pages;
    }
    list.start = (now - 1) * PAGE + 1;
    list.replaceChildren(...found.slice((now - 1) * PAGE, now * PAGE).map((row) => entry(rows, row, several, seeds)));
  }

  /** Shows a page from its top. The pressed button may now be disabled, so the list takes the focus. */
  function turn(wanted) {
    show(wanted);
    list.focus({ preventScroll: true });
    status.scrollIntoView({ block: "start" });
  }

  let timer = 0;
  form.addEventListener("input", (event) => {
    clearTimeout(timer);
    timer = setTimeout(() => load().then(apply), event.target.type === "search" ? 150 : 0);
  });
  form.addEventListener("reset", () => setTimeout(() => load().then(apply)));
  form.addEventListener("submit", (event) => event.preventDefault());
  page.addEventListener("change", () => show(Number(page.value)));
  pager.addEventListener("click", (event) => {
    const go = event.target.dataset?.go;
    const now = Number(page.value);
    if (go) turn({ first: 1, previous: now - 1, next: now + 1, last: Number(page.max) }[go]);
  });
  article.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-filter]");
    if (!link) return;
    form.reset();
    for (const [name, value] of new URLSearchParams(link.dataset.filter)) {
      if (form.elements[name]) form.elements[name].value = value;
    }
    load().then(apply);
  });
  // Loaded before a user can print: unpacking takes a moment, and printing does not wait for it.
  addEventListener("load", () => (window.requestIdleCallback ?? setTimeout)(load));
}

for (const article of document.querySelectorAll("article[data-results]")) mount(article);
