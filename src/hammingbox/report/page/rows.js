// The rows of a result set: a gzipped block of typed columns, unpacked on demand and filtered in memory.

const TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i1: Int8Array, i2: Int16Array, i4: Int32Array };

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/** Decodes deltas: adds up differences between neighbours. */
function sums(steps) {
  const found = Float64Array.from(steps);
  for (let i = 1; i < found.length; i++) found[i] += found[i - 1];
  return found;
}

/** The first pair of each row in a ragged column. */
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
    this.shown = head.shown;
    this.statuses = head.statuses;
    this.runs = head.runs;
    this.attacks = [...new Set(head.runs.map((run) => run.attack))];
    this.victims = head.victims;
    this.classes = head.schema.classes;
    this.features = head.schema.features.map(([name]) => name);
    this.words = head.schema.features.map(([, place]) => head.schema.vocabularies[place]);
    this.vocabulary = head.schema.features.map(([, place]) => place);
    this.vocabularies = head.schema.vocabularies;
    for (const name of ["label", "clean", "run", "status", "predicted", "forward", "backward", "stage"]) {
      this[name] = column(name);
    }
    this.unseen = "pairs" in head.columns ? column("pairs") : null;
    this.anomaly = "anomaly" in head.columns ? column("anomaly") : null;
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

  /** The most that an unlisted class can have, in thousandths: as much as the last listed class, as the likeliest come first. */
  least(pairs, row) {
    const last = pairs.start[row] + this.shown - 1;
    return last < pairs.start[row + 1] ? pairs.value[last] : 0;
  }

  cleanWords(place) {
    const n = this.features.length;
    return Array.from({ length: n }, (_, i) => this.words[i][this.clean[place * n + i]]);
  }

  /** The clean row as one lower-case text; computed once. */
  text(place) {
    const glue = this.form === "letters" ? "" : " ";
    return (this.texts[place] ??= this.cleanWords(place).join(glue).toLowerCase());
  }

  /** A test for rows that match a query: a row's #number, or a text in the clean row or in a change. */
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

  /** Indices of the rows that pass the filters, in the chosen order. */
  select(wanted) {
    const runs = this.runs.map(
      (run) =>
        (wanted.victim === "" || run.victim === Number(wanted.victim)) &&
        (wanted.attack === "" || run.attack === this.attacks[Number(wanted.attack)]) &&
        (wanted.budget === "" || run.budget === Number(wanted.budget)) &&
        (wanted.seed === "" || run.seed === Number(wanted.seed)),
    );
    const equal = (value, column) => (value === "" ? null : [Number(value), column]);
    const status = equal(wanted.status, this.status);
    const predicted = equal(wanted.predicted, this.predicted);
    const label = wanted.label === "" ? null : Number(wanted.label);
    const feature = wanted.feature === "" ? null : Number(wanted.feature);
    const matches = this.search(wanted.search);
    const found = [];
    for (let row = 0; row < this.length; row++) {
      if (!runs[this.run[row]]) continue;
      if (status && status[1][row] !== status[0]) continue;
      if (predicted && predicted[1][row] !== predicted[0]) continue;
      if (label !== null && this.label[this.place[row]] !== label) continue;
      if (feature !== null && !this.touches(row, feature)) continue;
      if (matches && !matches(row)) continue;
      found.push(row);
    }
    return this.sort(found, wanted.order);
  }

  /** How odd a row looks: by unseen pairs of values, then by how many rows are more typical; unknown ones last. */
  oddity(row) {
    if (!this.unseen || this.unseen[row] < 0) return Infinity;
    return 2000 * this.unseen[row] + Math.max(0, this.anomaly[row]);
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
      odd: (row) => this.oddity(row),
    }[order.replace("-", "")];
    if (!by) return rows;
    const direction = order.startsWith("-") ? -1 : 1;
    const compared = (a, b) => (a === b ? 0 : a < b ? -1 : 1); // Infinity - Infinity is no number
    return rows.sort((a, b) => direction * compared(by(a), by(b)) || a - b);
  }
}
