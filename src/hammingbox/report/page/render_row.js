// How a row is shown. Everything that comes from data is inserted as text, never as HTML.

const NEAR = 14; // words of context around a change in a long text
const number = new Intl.NumberFormat("en");

const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

const marked = (old, now, title) => make("mark", { title }, make("del", {}, old), make("ins", {}, now));

/** A line break inside a text is shown as a pilcrow. */
const sign = (word) => (word === "<br />" ? "\u00b6" : word);

/** Which words have a space before them; for texts the same rules as `join_words` of the package. */
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
    button.addEventListener("click", () => {
      const all = Object.assign(written(rows, row, true), { tabIndex: -1 });
      shown.replaceWith(all);
      all.focus(); // the button that had the focus is gone
    });
    shown.append(" ", button);
  }
  return shown;
}

/** A category on its own; invisible ones are named. */
const INVISIBLE = { "": "(empty)", " ": "(space)", "\n": "(line break)" };
const visible = (word) => INVISIBLE[word] ?? word;

function changeList(rows, row) {
  const list = make("ul", { className: "changes" });
  for (const [feature, old, now] of rows.changes(row)) {
    const words = rows.words[feature];
    list.append(make("li", {}, `${rows.features[feature]}: `, make("del", {}, visible(words[old])), " \u2192 ", make("ins", {}, visible(words[now]))));
  }
  return list;
}

/** The whole record of a table's row, with the changed cells marked; built when it is opened. */
function wholeRecord(rows, row) {
  const details = make("details", { className: "whole noprint" }, make("summary", {}, "whole record"));
  details.addEventListener("toggle", () => {
    if (!details.open || details.childElementCount > 1) return;
    const changes = new Map(rows.changes(row).map(([feature, , now]) => [feature, now]));
    const words = rows.cleanWords(rows.place[row]);
    const body = make("tbody");
    words.forEach((word, i) => {
      const value = changes.has(i)
        ? make("td", { className: "changed" }, make("del", {}, visible(word)), " \u2192 ", make("ins", {}, visible(rows.words[i][changes.get(i)])))
        : make("td", {}, visible(word));
      body.append(make("tr", {}, make("th", { scope: "row" }, rows.features[i]), value));
    });
    details.append(make("table", { className: "record" }, body));
  });
  return details;
}

function probabilityTable(rows, row) {
  const after = rows.probabilities(rows.after, row);
  const known = rows.before[rows.runs[rows.run[row]].victim];
  const own = known?.row.get(rows.place[row]);
  const before = known ? rows.probabilities(known, own) : new Map();
  const truth = rows.label[rows.place[row]];
  const classes = [...new Set([truth, ...before.keys(), ...after.keys()])];
  const tenths = (parts) => `${(parts / 10).toFixed(1)} %`;
  const cell = (parts, least) => {
    const value = parts ?? 0;
    const bar = make("span", { className: "bar robust" }, make("i"));
    bar.setAttribute("aria-hidden", "true");
    bar.firstChild.style.width = `${value / 10}%`;
    return make("td", {}, parts !== undefined ? tenths(parts) : least ? `\u2264 ${tenths(least)}` : "< 0.1 %", bar);
  };
  const body = make("tbody");
  for (const name of classes) {
    const head = make("th", { scope: "row" }, rows.classes[name] + (name === truth ? " (true)" : ""));
    const cells = [cell(before.get(name), known ? rows.least(known, own) : 0), cell(after.get(name), rows.least(rows.after, row))];
    body.append(make("tr", {}, head, ...cells));
  }
  const heads = ["class", "before", "after"].map((text) => make("th", { scope: "col" }, text));
  return make("table", { className: "probabilities" }, make("thead", {}, make("tr", {}, ...heads)), body);
}

/** What speaks against an adversarial row, where that was noted. */
function oddities(rows, row) {
  if (!rows.unseen || rows.unseen[row] < 0) return [];
  const pairs = rows.unseen[row];
  const found = [pairs ? `${pairs} unseen ${pairs === 1 ? "pair" : "pairs"} of values` : "no unseen pair of values"];
  const taken = rows.classes[rows.predicted[row]];
  if (rows.anomaly[row] >= 0) found.push(`${Math.floor(rows.anomaly[row] / 10)} % of the ${taken} rows are more typical`);
  return found;
}

function entry(rows, row, several, seeds) {
  const run = rows.runs[rows.run[row]];
  const status = rows.status[row];
  const count = rows.change.start[row + 1] - rows.change.start[row];
  const facts = [
    `${run.attack}, budget ${run.budgetText}${seeds ? `, seed ${run.seed}` : ""}${several ? `, on ${rows.victims[run.victim]}` : ""}`,
    `${count} ${count === 1 ? "change" : "changes"}`,
    `${number.format(rows.forward[row])} forward and ${number.format(rows.backward[row])} backward passes`,
  ];
  if (rows.stage[row]) facts.push(`stage ${rows.stage[row]} of the ensemble`);
  facts.push(...oddities(rows, row));
  const text = make(
    "div", { className: "what" },
    make("p", { className: "title" }, make("strong", {}, `#${rows.number[rows.place[row]]}`), " ",
      make("span", { className: `tag s${status}` }, rows.statuses[status]), " ",
      `${rows.classes[rows.label[rows.place[row]]]} \u2192 ${rows.classes[rows.predicted[row]]}`),
    written(rows, row, false), changeList(rows, row),
    ...(rows.form === "columns" ? [wholeRecord(rows, row)] : []),
    make("p", { className: "facts" }, facts.join(" \u00b7 ")),
  );
  return make("li", { className: "entry" }, text, probabilityTable(rows, row));
}
