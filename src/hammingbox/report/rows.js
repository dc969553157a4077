// The list of rows: read from a gzipped block when it comes into view, filtered as typed columns, shown a page at a time.
// Whatever comes from data is written as text, never as HTML.
(() => {
  const PAGE = 20;
  const NEAR = 14; // words of context around a change in a long text
  const OUTCOMES = ["stood", "fell", "wrong before"];
  const TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i1: Int8Array, i2: Int16Array, i4: Int32Array };
  const number = new Intl.NumberFormat("en");

  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  /** Undoes differences between neighbours. */
  function sums(steps) {
    const found = Float64Array.from(steps);
    for (let i = 1; i < found.length; i++) found[i] += found[i - 1];
    return found;
  }

  /** Where the pairs of each row begin in a ragged column. */
  function starts(counts) {
    const found = new Uint32Array(counts.length + 1);
    for (let i = 0; i < counts.length; i++) found[i + 1] = found[i] + counts[i];
    return found;
  }

  class Rows {
    constructor(buffer) {
      const length = new DataView(buffer).getUint32(0, true);
      const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
      const column = (name) => {
        const [type, offset, count] = head.columns[name];
        return new TYPES[type](buffer, 4 + length + offset, count);
      };
      this.form = head.form;
      this.runs = head.runs;
      this.attacks = [...new Set(head.runs.map((run) => run.attack))];
      this.victims = head.victims;
      this.classes = head.schema.classes;
      this.features = head.schema.features.map(([name]) => name);
      this.words = head.schema.features.map(([, place]) => head.schema.vocabularies[place]);
      this.vocabulary = head.schema.features.map(([, place]) => place);
      this.vocabularies = head.schema.vocabularies;
      for (const name of ["label", "clean", "run", "outcome", "predicted", "forward", "backward", "stage"]) {
        this[name] = column(name);
      }
      this.number = sums(column("number_step"));
      this.place = sums(column("place_step"));
      this.change = this.pairs(column, "change");
      this.after = this.pairs(column, "after");
      this.before = head.victims.map((_, victim) => {
        if (!(`before${victim}_count` in head.columns)) return null;
        const found = this.pairs(column, `before${victim}`);
        found.row = new Map();
        sums(column(`before${victim}_step`)).forEach((place, i) => found.row.set(place, i));
        return found;
      });
      this.texts = [];
    }

    pairs(column, name) {
      return { start: starts(column(`${name}_count`)), key: column(`${name}_key`), value: column(`${name}_value`) };
    }

    get length() {
      return this.run.length;
    }

    /** [feature, category before, category after] of each change. */
    changes(row) {
      const { start, key, value } = this.change;
      const first = this.place[row] * this.features.length;
      const found = [];
      for (let i = start[row]; i < start[row + 1]; i++) found.push([key[i], this.clean[first + key[i]], value[i]]);
      return found;
    }

    /** Class -> probability in thousandths. */
    probabilities(pairs, row) {
      const found = new Map();
      for (let i = pairs.start[row]; i < pairs.start[row + 1]; i++) found.set(pairs.key[i], pairs.value[i]);
      return found;
    }

    cleanWords(place) {
      const n = this.features.length;
      return Array.from({ length: n }, (_, i) => this.words[i][this.clean[place * n + i]]);
    }

    /** The clean row as one lower-case text, kept once made. */
    text(place) {
      const glue = this.form === "letters" ? "" : " ";
      return (this.texts[place] ??= this.cleanWords(place).join(glue).toLowerCase());
    }

    /** A test of rows for what was typed: a row's #number, or a text in the clean row or in a change. */
    search(query) {
      const typed = query.trim().toLowerCase();
      if (!typed) return null;
      if (/^#\d+$/.test(typed)) {
        const wanted = Number(typed.slice(1));
        return (row) => this.number[this.place[row]] === wanted;
      }
      const inWords = this.vocabularies.map((words) => words.map((word) => word.toLowerCase().includes(typed)));
      const inName = this.features.map((name) => name.toLowerCase().includes(typed));
      const n = this.features.length;
      const inRow = new Uint8Array(this.number.length);
      for (let place = 0; place < inRow.length; place++) {
        if (this.form !== "columns") {
          inRow[place] = this.text(place).includes(typed);
          continue;
        }
        for (let i = 0; i < n && !inRow[place]; i++) inRow[place] = inWords[this.vocabulary[i]][this.clean[place * n + i]];
      }
      const { start, key, value } = this.change;
      return (row) => {
        if (inRow[this.place[row]]) return true;
        for (let i = start[row]; i < start[row + 1]; i++) {
          if (inName[key[i]] || inWords[this.vocabulary[key[i]]][value[i]]) return true;
        }
        return false;
      };
    }

    /** Numbers of the rows that pass, in the order that was asked for. */
    select(wanted) {
      const runs = this.runs.map(
        (run) =>
          (wanted.victim === "" || run.victim === Number(wanted.victim)) &&
          (wanted.attack === "" || run.attack === this.attacks[Number(wanted.attack)]) &&
          (wanted.budget === "" || run.budget === Number(wanted.budget)) &&
          (wanted.seed === "" || run.seed === Number(wanted.seed)),
      );
      const equal = (value, column) => (value === "" ? null : [Number(value), column]);
      const outcome = equal(wanted.outcome, this.outcome);
      const predicted = equal(wanted.predicted, this.predicted);
      const label = wanted.label === "" ? null : Number(wanted.label);
      const feature = wanted.feature === "" ? null : Number(wanted.feature);
      const matches = this.search(wanted.search);
      const found = [];
      for (let row = 0; row < this.length; row++) {
        if (!runs[this.run[row]]) continue;
        if (outcome && outcome[1][row] !== outcome[0]) continue;
        if (predicted && predicted[1][row] !== predicted[0]) continue;
        if (label !== null && this.label[this.place[row]] !== label) continue;
        if (feature !== null && !this.touches(row, feature)) continue;
        if (matches && !matches(row)) continue;
        found.push(row);
      }
      return this.sort(found, wanted.order);
    }

    touches(row, feature) {
      const { start, key } = this.change;
      for (let i = start[row]; i < start[row + 1]; i++) if (key[i] === feature) return true;
      return false;
    }

    sort(rows, order) {
      const by = {
        number: (row) => this.number[this.place[row]],
        changes: (row) => this.change.start[row + 1] - this.change.start[row],
        passes: (row) => this.forward[row] + this.backward[row],
      }[order.replace("-", "")];
      if (!by) return rows;
      const sign = order.startsWith("-") ? -1 : 1;
      return rows.sort((a, b) => sign * (by(a) - by(b)) || a - b);
    }
  }

  // How a row is written -------------------------------------------------------------------------------------------

  const marked = (old, now, title) => make("mark", { title }, make("del", {}, old), make("ins", {}, now));

  /** A line break inside a text, as a sign. */
  const sign = (word) => (word === "<br />" ? "\u00b6" : word);

  /** Which words have a blank before them; those of a text as `join_words` of the package has it. */
  function blanks(form, words) {
    if (form !== "words") return words.map((_, i) => form === "events" && i > 0);
    let quoted = false;
    let glue = true;
    return words.map((word) => {
      const tight = glue || (word === '"' && quoted) || TIGHT.has(word) || (word.length > 1 && "'\u2019".includes(word[0]));
      if (word === '"') quoted = !quoted;
      glue = "([{$#".includes(word) || (word === '"' && quoted);
      return !tight;
    });
  }
  const TIGHT = new Set([".", ",", ";", ":", "!", "?", ")", "]", "}", "%", "...", "n't"]);

  function written(rows, row, whole) {
    const changes = new Map(rows.changes(row).map(([feature, old, now]) => [feature, [rows.words[feature][old], rows.words[feature][now]]]));
    const shown = make("p", { className: `written ${rows.form}` });
    if (rows.form === "columns") return shown;
    const words = rows.cleanWords(rows.place[row]);
    const last = rows.form === "words" ? words.findLastIndex((word) => word !== "<pad>") + 1 : words.length;
    const long = rows.form !== "letters" && last > 60 && !whole;
    const near = new Uint8Array(last);
    const blank = blanks(rows.form, words);
    for (const feature of changes.keys()) near.fill(1, Math.max(0, feature - NEAR), feature + NEAR + 1);
    if (!changes.size) near.fill(1, 0, 2 * NEAR);
    let plain = "";
    for (let i = 0; i < last; i++) {
      if (long && !near[i]) {
        if (i === 0 || near[i - 1]) plain += i === 0 ? "\u2026" : " \u2026";
        continue;
      }
      if (blank[i]) plain += " ";
      if (!changes.has(i)) {
        plain += sign(words[i]);
        continue;
      }
      shown.append(plain, marked(...changes.get(i).map(sign), rows.features[i]));
      plain = "";
    }
    shown.append(plain);
    if (long && near.includes(0)) {
      const button = make("button", { type: "button", className: "more" }, "whole row");
      button.addEventListener("click", () => shown.replaceWith(written(rows, row, true)));
      shown.append(" ", button);
    }
    return shown;
  }

  function changeList(rows, row) {
    const list = make("ul", { className: "changes" });
    for (const [feature, old, now] of rows.changes(row)) {
      const words = rows.words[feature];
      list.append(make("li", {}, `${rows.features[feature]}: `, make("del", {}, words[old]), " \u2192 ", make("ins", {}, words[now])));
    }
    return list;
  }

  function probabilityTable(rows, row) {
    const after = rows.probabilities(rows.after, row);
    const known = rows.before[rows.runs[rows.run[row]].victim];
    const before = known ? rows.probabilities(known, known.row.get(rows.place[row])) : new Map();
    const truth = rows.label[rows.place[row]];
    const classes = [...new Set([truth, ...before.keys(), ...after.keys()])];
    const cell = (parts) => {
      const value = parts ?? 0;
      const bar = make("span", { className: "bar robust" }, make("i"));
      bar.setAttribute("aria-hidden", "true");
      bar.firstChild.style.width = `${value / 10}%`;
      return make("td", {}, parts === undefined ? "< 0.1 %" : `${(value / 10).toFixed(1)} %`, bar);
    };
    const body = make("tbody");
    for (const name of classes) {
      const own = name === truth ? " (true)" : "";
      body.append(make("tr", {}, make("th", { scope: "row" }, rows.classes[name] + own), cell(before.get(name)), cell(after.get(name))));
    }
    const heads = ["class", "before", "after"].map((text) => make("th", { scope: "col" }, text));
    return make("table", { className: "probabilities" }, make("thead", {}, make("tr", {}, ...heads)), body);
  }

  function entry(rows, row, several, seeds) {
    const run = rows.runs[rows.run[row]];
    const outcome = rows.outcome[row];
    const count = rows.change.start[row + 1] - rows.change.start[row];
    const facts = [
      `${run.attack}, budget ${run.budget}${seeds ? `, seed ${run.seed}` : ""}${several ? `, on ${rows.victims[run.victim]}` : ""}`,
      `${count} ${count === 1 ? "change" : "changes"}`,
      `${number.format(rows.forward[row])} forward and ${number.format(rows.backward[row])} backward passes`,
    ];
    if (rows.stage[row]) facts.push(`stage ${rows.stage[row]} of the ensemble`);
    const text = make(
      "div", { className: "what" },
      make("p", { className: "title" }, make("strong", {}, `#${rows.number[rows.place[row]]}`), " ",
        make("span", { className: `tag o${outcome}` }, OUTCOMES[outcome]), " ",
        `${rows.classes[rows.label[rows.place[row]]]} \u2192 ${rows.classes[rows.predicted[row]]}`),
      written(rows, row, false), changeList(rows, row),
      make("p", { className: "facts" }, facts.join(" \u00b7 ")),
    );
    return make("li", { className: "entry" }, text, probabilityTable(rows, row));
  }

  // The section of a study -----------------------------------------------------------------------------------------

  function mount(article) {
    const section = article.querySelector(".rows");
    const form = section.querySelector("form");
    const status = section.querySelector(".found");
    const list = section.querySelector(".entries");
    const pager = section.querySelector(".pager");
    const page = pager.querySelector("input");
    const names = ["victim", "attack", "budget", "seed", "outcome", "label", "predicted", "feature", "order", "search"];
    let rows = null;
    let loading = null;
    let found = [];
    let several = false;
    let seeds = false;

    function load() {
      loading ??= (async () => {
        if (typeof DecompressionStream === "undefined") {
          status.textContent =
            "This browser is too old to unpack the rows: use Chromium 97, Firefox 113, Safari 16.4 or later. All rows are in the results file beside this page.";
          return;
        }
        status.textContent = "Reading the rows \u2026";
        rows = new Rows(await unpack(document.getElementById(`packed-${article.dataset.study}`).textContent));
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
      const counts = [0, 0, 0];
      for (const row of found) counts[rows.outcome[row]]++;
      const parts = OUTCOMES.map((name, i) => `${number.format(counts[i])} ${name}`);
      status.textContent = `${number.format(found.length)} of ${number.format(rows.length)} rows: ${parts[1]}, ${parts[0]}, ${parts[2]}`;
      show(1);
    }

    function show(wanted) {
      const pages = Math.max(1, Math.ceil(found.length / PAGE));
      const now = Math.min(Math.max(1, Math.trunc(wanted) || 1), pages);
      page.value = String(now);
      page.max = String(pages);
      pager.hidden = found.length === 0;
      pager.querySelector("output").textContent = number.format(pages);
      for (const button of pager.querySelectorAll("button")) {
        button.disabled = ["first", "previous"].includes(button.dataset.go) ? now === 1 : now === pages;
      }
      list.start = (now - 1) * PAGE + 1;
      list.replaceChildren(...found.slice((now - 1) * PAGE, now * PAGE).map((row) => entry(rows, row, several, seeds)));
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
      if (go) show({ first: 1, previous: now - 1, next: now + 1, last: Number(page.max) }[go]);
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
    if (typeof IntersectionObserver === "undefined") load();
    else {
      const observer = new IntersectionObserver((seen) => {
        if (seen.some((one) => one.isIntersecting)) {
          observer.disconnect();
          load();
        }
      }, { rootMargin: "400px" });
      observer.observe(section);
    }
    addEventListener("beforeprint", load);
  }

  for (const article of document.querySelectorAll("article[data-study]")) mount(article);
})();
