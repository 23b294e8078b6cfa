// The table. Each row is an element that stays where it is, whatever name is there: only texts change, and nothing moves.

const SPARK_WIDTH = 90;
const SPARK_HEIGHT = 16;
// Of a longer table there are only the rows in sight, with so many above and below.
const MOST_WHOLE = 150;
const AROUND = 8;

const element = (name, classes, text) => {
  const made = document.createElement(name);
  if (classes) made.className = classes;
  if (text !== undefined) made.textContent = text;
  return made;
};

// What a node says is known without asking it. Its text is changed, and not replaced: that saves the browser the making of another box.
const said = new WeakMap();
const setText = (node, text) => {
  if (said.get(node) === text) return;
  said.set(node, text);
  if (node.firstChild) node.firstChild.data = text;
  else node.textContent = text;
};

// Headers of figures that are known here. Others are shown by their names, with the unit at their end.
const WORDS = {
  self_ns: "CPU", before_ns: "CPU A", after_ns: "CPU B", inherited_ns: "Inherited", unidentified_ns: "Of unknown dead", runqueue_wait_ns: "Waited", stolen_ns: "Stolen",
  inherited_stolen_ns: "Inherited stolen", minor_faults: "Minor faults", major_faults: "Major faults", births: "Born", deaths: "Died",
  wait_caused_ns: "Others waited", wait_suffered_ns: "Waited for others", network_sent_bytes: "Sent", network_received_bytes: "Received",
  unix_sent_bytes: "Sent to sockets here", unix_received_bytes: "Received from here",
  disk_read_bytes: "Disks read", disk_written_bytes: "Disks wrote",
  elapsed_ns: "Alive", blocked_ns: "Blocked", io_wait_ns: "Of that I/O", sleep_ns: "Asleep", stopped_ns: "Stopped", unseen_ns: "Unknown",
};
const STATES = ["elapsed_ns", "runqueue_wait_ns", "blocked_ns", "io_wait_ns", "sleep_ns", "stopped_ns", "unseen_ns"];
const OFF = STATES.filter((key) => key !== "runqueue_wait_ns");
// Parts of the bar of states, which is as long as its row was alive.
const BAR = ["self_ns", "runqueue_wait_ns", "blocked_ns", "sleep_ns", "stopped_ns", "unseen_ns"];

// Figures have their unit at the end of their names; times are in `unit`.
const headerOf = (key, unit) => {
  const words = WORDS[key] ?? key.replace(/_(ns|bytes)$/, "").replaceAll("_", " ").replace(/^./, (letter) => letter.toUpperCase());
  return key.endsWith("_ns") ? `${words} (${unit})` : key.endsWith("_bytes") ? `${words} (KiB)` : words;
};
const shown = (key, exact, unit) => {
  if (key.endsWith("_ns")) return timeIn(unit, exact);
  return group(key.endsWith("_bytes") ? BigInt(exact) / 1024n : exact);
};

class Table {
  constructor(table, on) {
    [this.head, this.above, this.body, this.below, this.rest] = [table.tHead, ...table.tBodies];
    Object.assign(this, { table, on, rows: { row: [], rest: [] }, columns: [], signature: "", visible: new Set(), owners: new WeakMap(), window: [0, 3 * AROUND] });
    table.addEventListener("pointerover", (event) => {
      if (event.target instanceof HTMLTableCellElement) this.digits(event.target);
    });
    // Another name may come to where a button was pressed before it is released.
    table.addEventListener("pointerdown", ({ target }) => { this.pressed = this.owners.get(target.closest("tr"))?.row; });
    document.addEventListener("scroll", () => this.look(), { passive: true });
    new ResizeObserver(() => this.look()).observe(document.documentElement);
    // Pictures in rows that nobody sees are drawn when they are seen.
    this.watcher = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) this.visible.add(target);
        else this.visible.delete(target);
        const own = this.owners.get(target);
        if (isIntersecting && own) this.update(own);
      }
    }, { rootMargin: "100px" });
  }

  // model: columns (key, label, kind, isWide), rows and rest (id, label, depth, figures), sort, unit, capacity, colored, spark.
  show(model) {
    this.model = model;
    this.isLong = model.rows.length > MOST_WHOLE;
    const signature = `${this.isLong}|${this.on.canPick()}|${model.columns.map(({ key, label }) => `${key}:${label}`).join("|")}`;
    if (signature !== this.signature) {
      this.signature = signature;
      this.columns = model.columns.map((column) => ({ ...column, attribute: `data-${column.key.replaceAll("_", "-")}` }));
      this.watcher.disconnect();
      this.visible.clear();
      this.rows = { row: [], rest: [] };
      this.body.replaceChildren();
      this.rest.replaceChildren();
      this.makeHead();
    }
    for (const head of this.head.querySelectorAll("th[data-key]")) {
      const isSorted = head.dataset.key === model.sort.key;
      if (isSorted) head.setAttribute("aria-sort", model.sort.descends ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    this.table.classList.toggle("long", this.isLong);
    this.table.setAttribute("aria-rowcount", String(1 + model.rows.length + model.rest.length));
    this.fillBody();
    this.fill(this.rest, model.rest, "rest");
  }

  fillBody() {
    const { rows } = this.model;
    const [from, to] = this.isLong ? this.window.map((place) => Math.min(Math.max(place, 0), rows.length)) : [0, rows.length];
    this.fill(this.body, rows.slice(from, to), "row");
    for (const [space, count] of [[this.above, from], [this.below, rows.length - to]]) {
      const height = `${count * (this.rowHeight ?? 26)}px`;
      if (count === 0) space.replaceChildren();
      else if (!space.firstElementChild) space.append(element("tr"));
      if (count > 0 && space.firstElementChild.style.height !== height) space.firstElementChild.style.height = height;
    }
  }

  // Finds the rows of a long table that are in sight. Called only when the browser has laid out the page anyway.
  look() {
    if (!this.isLong || !this.body.firstElementChild) return;
    this.rowHeight = this.body.firstElementChild.getBoundingClientRect().height || 26;
    const first = Math.floor(-this.head.getBoundingClientRect().bottom / this.rowHeight);
    const window = [first - AROUND, first + Math.ceil(innerHeight / this.rowHeight) + AROUND];
    if (window.every((place, own) => Math.abs(place - this.window[own]) < AROUND / 2)) return;
    this.window = window;
    this.fillBody();
  }

  makeHead() {
    const row = element("tr");
    for (const { key, label, kind, isWide } of this.columns) {
      const head = element("th", `of-${kind === "figure" && !key.endsWith("_ns") ? "count" : kind} ${isWide ? "wide" : ""}`);
      head.scope = "col";
      if (kind === "spark" || kind === "bar") {
        head.textContent = label;
      } else {
        head.dataset.key = key;
        const button = element("button", "", label);
        button.type = "button";
        button.addEventListener("click", () => this.on.sort(key));
        head.append(button);
      }
      row.append(head);
    }
    this.head.replaceChildren(row);
  }

  fill(body, rows, kind) {
    const own = this.rows[kind];
    while (own.length > rows.length) {
      const { element: line } = own.pop();
      line.remove();
      this.watcher.unobserve(line);
      this.visible.delete(line);
    }
    const focused = own.find((line) => line.element.contains(document.activeElement));
    const id = focused?.row.id;
    rows.forEach((row, place) => {
      own[place] ??= this.make(body, kind);
      own[place].row = row;
      this.update(own[place]);
    });
    // The focus goes with its name.
    if (focused && focused.row.id !== id) own.find((line) => line.row.id === id)?.label.focus({ preventScroll: true });
  }

  make(body, kind) {
    const line = element("tr");
    const cells = this.columns.map((column) => line.appendChild(element(column.kind === "name" ? "th" : "td", column.isWide ? "wide" : "")));
    cells[0].scope = "row";
    const swatch = element("i", "swatch");
    const label = element(kind === "row" && this.on.canPick() ? "button" : "span", "name");
    const name = label.appendChild(element("bdi"));
    const own = { element: line, kind, swatch, label, name, cells, exact: [] };
    if (label.tagName === "BUTTON") {
      label.type = "button";
      label.addEventListener("click", ({ detail }) => {
        // Keys press what has the focus.
        const { id, label: words } = (detail > 0 && this.pressed) || own.row;
        this.on.pick(id, words);
      });
    }
    const box = element("div", "label");
    box.append(swatch, label);
    cells[0].append(box);
    this.owners.set(line, own);
    this.watcher.observe(line);
    body.append(line);
    return own;
  }

  // The name of a row, where another one was.
  rename(own) {
    const { element: line, kind, row } = own;
    const depth = Math.min(row.depth || 0, 24);
    if (own.id === row.id && own.name.textContent === row.label && own.depth === depth) return;
    own.id = row.id;
    line.dataset.kind = kind === "row" ? "row" : row.id;
    line.dataset.name = row.label;
    if (this.isLong) line.title = row.label;
    setText(own.name, row.label);
    if (own.depth !== depth) own.cells[0].style.paddingLeft = `${8 + depth * 14}px`;
    own.depth = depth;
  }

  update(own) {
    const { row } = own;
    this.rename(own);
    const hasColor = own.kind === "row" && this.model.colored.has(row.id);
    const slot = hasColor ? `swatch c${slotOf(row.label)}` : "swatch none";
    if (own.swatch.className !== slot) own.swatch.className = slot;
    this.columns.forEach((column, place) => {
      const cell = own.cells[place];
      switch (column.kind) {
        case "name": break;
        case "share": setText(cell, row.figures.has("self_ns") ? percent(row.figures.get("self_ns"), this.model.capacity) : "–"); break;
        case "spark": if (own.kind === "row" && this.visible.has(own.element)) this.spark(own, cell, hasColor); break;
        case "bar": this.bar(own, cell, row); break;
        case "text": setText(cell, row.texts?.get(column.key) ?? "–"); break;
        default: this.figure(own, place, column, digitsOf(row.figures, column.key));
      }
    });
  }

  // What the cell holds is exact in its attribute, and rounded for the eye.
  figure(own, place, { key, attribute }, exact) {
    const before = own.exact[place];
    if (before === exact) return;
    own.exact[place] = exact;
    const cell = own.cells[place];
    setText(cell, exact === null ? "–" : shown(key, exact, this.model.unit));
    if (exact === null) cell.removeAttribute(attribute);
    else cell.setAttribute(attribute, exact);
    if ((before === "0") !== (exact === "0")) cell.classList.toggle("zero", exact === "0");
  }

  // All digits of a figure, when somebody points at it; of what another row had there, nothing stays.
  digits(cell) {
    const key = Object.keys(cell.dataset).find((name) => /^\d+$/.test(cell.dataset[name]));
    cell.title = key ? `${group(cell.dataset[key])}${key.endsWith("Ns") ? " ns" : key.endsWith("Bytes") ? " bytes" : ""}` : "";
  }

  spark(own, cell, hasColor) {
    const { row } = own;
    const heights = this.model.spark(row.id);
    if (!heights) {
      own.canvas?.remove();
      own.canvas = null;
      return;
    }
    if (!own.canvas) {
      own.canvas = element("canvas", "spark");
      own.canvas.width = SPARK_WIDTH;
      own.canvas.height = SPARK_HEIGHT;
      own.canvas.setAttribute("aria-hidden", "true");
      cell.append(own.canvas);
      own.pen = own.canvas.getContext("2d");
      own.drawn = "";
    }
    const color = hasColor ? theme.names[slotOf(row.label)] : theme.soft;
    const signature = heights.some((height) => height > 0) ? `${heights.join()} ${color}` : "";
    if (own.drawn === signature) return;
    own.drawn = signature;
    const { pen } = own;
    pen.clearRect(0, 0, SPARK_WIDTH, SPARK_HEIGHT);
    pen.fillStyle = color;
    const width = SPARK_WIDTH / heights.length;
    heights.forEach((height, place) => {
      if (height > 0) pen.fillRect(place * width, SPARK_HEIGHT - height, Math.max(width - 0.5, 0.5), height);
    });
  }

  bar(own, cell, row) {
    if (!own.parts) {
      const box = element("div", "states");
      own.parts = BAR.map((key) => box.appendChild(element("i", key)));
      cell.append(box);
    }
    const whole = BAR.reduce((sum, key) => sum + (row.figures.get(key) ?? 0n), 0n);
    own.parts.forEach((part, place) => {
      const key = BAR[place];
      const width = `${(ratio(row.figures.get(key) ?? 0n, whole) * 100).toFixed(1)}%`;
      if (part.style.width !== width) {
        part.style.width = width;
        part.title = `${WORDS[key]}: ${width}`;
      }
    });
  }
}
