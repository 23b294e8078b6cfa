// The page: what is shown (`state`), which a link holds; what is known (`books`); and how one follows from the other.

const LONGEST = 300n * SECOND;
const ROWS = 100;
const MOST_ROWS = 1000;
const BUCKETS = 240;
// Between two attempts to get what is missing of a live line, in milliseconds.
const HEALING = 15000;
// What a click on a name shows: the next finer kind of rows.
const FINER = { unit: "command", container: "command", pod: "container", image: "command", user: "command", cgroup: "command", command: "process" };
const COLUMNS = ["inherited_ns", "unidentified_ns", "runqueue_wait_ns", "stolen_ns", "inherited_stolen_ns", "minor_faults", "major_faults", "births", "deaths"];
// Views of what the service keeps besides CPU time while somebody looks: their key, their name, and the columns.
const ACCOUNTS = {
  blame: { key: "4", name: "Blame", columns: ["wait_caused_ns", "wait_suffered_ns"] },
  disk: { key: "5", name: "Disks", columns: ["disk_read_bytes", "disk_written_bytes"] },
  network: { key: "6", name: "Network", columns: ["network_sent_bytes", "network_received_bytes", "unix_sent_bytes", "unix_received_bytes"] },
};
const USUAL = () => ({ by: "command", within: [], zoom: null, span: null, base: null, view: "cpu", sort: { key: "self_ns", descends: true } });

const find = (id) => document.getElementById(id);
const state = USUAL();
// line: the time line; whole: the sheet of it; sheet: that of the table; last: the last interval; before: the sheet of span A.
const books = { line: { parts: [], labels: new Map() }, whole: null, sheet: null, last: null, before: null };
const keptColumns = new Set();
let source = null;
let rowsShown = ROWS;
let asked = null;
let healed = 0;

const isLive = () => source.isLive && !state.zoom && !state.span;
const labelOf = (id) => (id.startsWith("=") ? id.slice(1) : id);
const spanOf = () => state.span ?? state.zoom;
const same = (one, other) => one === other || (one && other && one.from === other.from && one.to === other.to);

// Links.

const spanText = ({ from, to }) => `${written(from)}..${written(to)}`;
const spanRead = (text) => {
  const [from, to] = (text ?? "").split("..").map(read);
  return from !== null && to !== null && to !== undefined && from < to ? { from, to } : null;
};

const remember = (isStep) => {
  const query = new URLSearchParams();
  const span = spanOf();
  if (span) {
    query.set("from", written(span.from));
    query.set("to", written(span.to));
  }
  query.set("by", state.by);
  for (const [dimension, id] of state.within) query.append("within", `${dimension}:${id}`);
  if (state.span && state.zoom) query.set("zoom", spanText(state.zoom));
  if (state.base) query.set("compare", spanText(state.base));
  if (state.view !== "cpu") query.set("view", state.view);
  // A colon needs no writing around in this part of an address.
  const hash = `#${String(query).replaceAll("%3A", ":")}`;
  if (hash === location.hash) return;
  if (isStep) history.pushState(null, "", hash);
  else history.replaceState(null, "", hash);
};

const recall = () => {
  const query = new URLSearchParams(location.hash.slice(1));
  Object.assign(state, USUAL());
  // The first sheet of a saved page is the one that was asked for.
  if (!source.isLive) state.by = source.dimensions[0];
  if (source.dimensions.includes(query.get("by"))) state.by = query.get("by");
  state.within = query.getAll("within").map((text) => [text.slice(0, text.indexOf(":")), text.slice(text.indexOf(":") + 1)]);
  const [from, to] = [query.get("from"), query.get("to")].map((text) => (text ? read(text) : null));
  const span = from !== null && to !== null && from < to ? { from, to } : null;
  state.zoom = spanRead(query.get("zoom"));
  if (state.zoom || !source.isLive) state.span = span;
  else state.zoom = span;
  state.base = spanRead(query.get("compare"));
  const view = query.get("view");
  if (view === "states" || Object.hasOwn(ACCOUNTS, view ?? "")) state.view = view;
};

// What is shown becomes another: it is loaded, and a link leads to it.
const change = (changes, isStep = true) => {
  Object.assign(state, changes);
  keptColumns.clear();
  remember(isStep);
  load();
};

// Loading.

const say = (text) => {
  find("error").hidden = !text;
  setText(find("error"), text || "");
};

const load = async () => {
  asked?.abort();
  asked = new AbortController();
  const { signal } = asked;
  try {
    if (source.isLive) await loadServed(signal);
    else loadSaved();
    say("");
  } catch (error) {
    if (signal.aborted) return;
    say(`${error.message || error}.`.replace(/\.\.$/, "."));
    render();
  }
};

const loadSaved = () => {
  const whole = source.sheet(state.by);
  const timed = source.timed(state.by);
  const line = lineOf(timed);
  if (state.zoom) line.parts = line.parts.filter((part) => isWithin(part, state.zoom));
  const of = (span) => (span ? sumOf(timed, lineOf(timed), span) : whole);
  Object.assign(books, { line, whole, last: null, sheet: of(spanOf()), before: state.base ? of(state.base) : null });
  render();
};

const asNumbers = ({ from, to }) => ({ from: String(from), to: String(to) });

const loadServed = async (signal) => {
  const rows = state.base ? MOST_ROWS : rowsShown > ROWS ? MOST_ROWS : 200;
  const get = (more) => source.history(state.by, state.within, more, signal);
  // Intervals that come while the past is read are put behind it.
  const early = [];
  if (isLive()) {
    books.before = null;
    follow(rows, early);
  } else {
    source.stop();
  }
  const window = state.zoom ? asNumbers(state.zoom) : { from: "-5m" };
  const whole = get({ ...window, buckets: isLive() ? 300 : BUCKETS });
  const part = (span) => (span ? get({ ...asNumbers(span), rows }) : null);
  const [of, before] = [part(state.span ?? (isLive() ? null : state.zoom)), part(state.base)];
  const parts = await Promise.all([whole.catch((error) => (isLive() ? null : Promise.reject(error))), of, before]);
  if (signal.aborted) return;
  const [all, sheet, base] = parts;
  if (!all && !isLive()) throw new Error("the service has no interval yet");
  Object.assign(books, { whole: all, before: base });
  books.line = all ? lineOf(all) : { parts: [], labels: new Map() };
  for (const own of early.splice(0)) extend(books.line, own, LONGEST);
  early.isOver = true;
  books.sheet = sheet ?? books.last ?? all;
  render();
};

const follow = (rows, early) => {
  books.last = null;
  const accounts = state.view in ACCOUNTS ? { accounts: state.view } : {};
  source.follow(state.by, state.within, { rows, ...accounts }, {
    sheet: (sheet) => {
      if (!isLive()) return;
      books.last = sheet;
      books.sheet = sheet;
      say("");
      if (!early.isOver) {
        early.push(sheet);
        return render();
      }
      const isNext = extend(books.line, sheet, LONGEST);
      // A slow page misses intervals: the service still has them.
      if (!isNext && Date.now() - healed > HEALING) {
        healed = Date.now();
        load();
      }
      render();
    },
    gone: (reason, isOver) => {
      say(`No new intervals: ${reason}. ${isOver ? "Load the page again to try once more." : "It goes on by itself."}`);
    },
  });
};

// Drawing, once a frame at most.

let isDue = false;
const render = () => {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    draw();
  });
};

const draw = () => {
  drawHead();
  if (!books.sheet) return;
  const span = state.zoom ?? { from: books.line.parts[0]?.from ?? books.sheet.start, to: books.line.parts.at(-1)?.to ?? books.sheet.end };
  const used = usedInAll(books.line);
  const named = used.slice(0, NAMED).map(([id, ns]) => ({ id, ns, label: books.line.labels.get(id) ?? labelOf(id) }));
  assign(named.map(({ label }) => label));
  const layers = named.map((own) => ({ ...own, color: theme.names[slotOf(own.label)] }));
  find("line").parentElement.hidden = books.line.parts.length === 0;
  chart.show({ line: books.line, layers, cpus: cpusOf(books.whole ?? books.sheet), span, selection: state.span, base: state.base });
  drawLegend(layers);
  drawBalance();
  drawTable(new Set(named.map(({ id }) => id)));
  const { ancestry } = books.sheet;
  find("ancestry").hidden = ancestry.length === 0;
  if (ancestry.length > 0) icicle.show(ancestry);
  drawNotes();
};

const drawHead = () => {
  setText(find("host"), source.host);
  document.title = `CPU time of ${source.host}`;
  const mode = isLive() ? "live" : state.base ? "compared" : "past";
  setText(find("mode"), { live: "Live", compared: "A and B", past: source.isLive ? "Past" : "Saved" }[mode]);
  find("mode").className = `pill ${mode}`;
  const { sheet, before } = books;
  const words = (own) => `${instant(own.start)} to ${clock(own.end)}, ${length(own.length_ns)}, ${group(own.intervals)} ${own.intervals === 1n ? "interval" : "intervals"}`;
  setText(find("span"), !sheet ? "" : before ? `A: ${words(before)}; B: ${words(sheet)}` : words(sheet));
  if (sheet) Object.assign(find("span").dataset, { startNs: sheet.start, endNs: sheet.end });
  setText(find("pause"), isLive() ? "Pause" : "Go on");
  find("pause").hidden = !source.isLive;
  find("now").hidden = isLive() || (!source.isLive && !spanOf());
  setText(find("now"), source.isLive ? "Back to now" : "Whole span");
  find("zoom").hidden = !state.span;
  find("out").hidden = !state.zoom;
  setText(find("compare"), state.base ? "End comparison" : "Compare");
  for (const button of find("by").children) button.setAttribute("aria-pressed", String(button.dataset.by === state.by));
  for (const button of find("views").children) button.setAttribute("aria-pressed", String(button.dataset.view === state.view));
  const crumbs = state.within.map(([dimension, id], place) => {
    const item = element("li");
    const button = element("button", "", "");
    button.type = "button";
    button.append(`${dimension} `, element("bdi", "", labelOf(id)), " ✕");
    button.setAttribute("aria-label", `Show all again, not only ${dimension} ${labelOf(id)}`);
    button.addEventListener("click", () => change({ within: state.within.filter((_, own) => own !== place) }));
    item.append(button);
    return item;
  });
  const wanted = JSON.stringify(state.within);
  if (find("crumbs").dataset.of !== wanted) find("crumbs").replaceChildren(...crumbs);
  find("crumbs").dataset.of = wanted;
  find("crumbs").hidden = crumbs.length === 0;
};

const cpusOf = (sheet) => (sheet.length_ns > 0n ? Math.round(Number((sheet.capacity_ns * 1000n) / sheet.length_ns) / 10) / 100 : 1);

const drawLegend = (layers) => {
  const legend = find("legend");
  const rests = ["others", "unattributed", "idle"];
  const wanted = [...layers.map(({ id, label }) => `${id} ${label}`), ...rests].join("\n");
  if (legend.dataset.of === wanted) return;
  legend.dataset.of = wanted;
  const entry = (classes, label, id) => {
    const item = element("li");
    const name = element(id && canPick() ? "button" : "span");
    name.append(element("i", `swatch ${classes}`), element("bdi", "", label));
    if (name.tagName === "BUTTON") {
      name.type = "button";
      name.addEventListener("click", () => pick(id, label));
    }
    item.append(name);
    return item;
  };
  legend.replaceChildren(...layers.map(({ id, label }) => entry(`c${slotOf(label)}`, label, id)), ...rests.map((rest) => entry(rest, rest)));
};

const drawBalance = () => {
  const { sheet } = books;
  const parts = [
    ["attributed_ns", "Attributed"], ["idle_ns", "Idle"], ["unattributed_ns", "Unattributed"], ["untold_ns", "Idle, or not known"],
    ["stolen_ns", "Stolen (of attributed)"], ["capacity_ns", "Capacity"],
  ].filter(([key]) => sheet[key] !== null && (key !== "untold_ns" || sheet[key] > 0n));
  const list = find("balance");
  const keys = parts.map(([key]) => key).join();
  if (list.dataset.of !== keys) {
    list.dataset.of = keys;
    list.replaceChildren(...parts.map(([key, words]) => {
      const box = element("div");
      box.append(element("dt", "", words), element("dd"));
      box.lastChild.dataset.figure = key;
      return box;
    }));
    find("bar").replaceChildren(...["attributed_ns", "unattributed_ns", "untold_ns"].map((key) => element("i", key)));
  }
  for (const box of list.children) {
    const figure = box.lastChild;
    const ns = sheet[figure.dataset.figure];
    figure.dataset.ns = String(ns);
    figure.title = `${group(ns)} ns`;
    const cpus = cpusOf(sheet);
    setText(figure, figure.dataset.figure === "capacity_ns" ? `${seconds(ns)} s on ${cpus} CPU${cpus === 1 ? "" : "s"}` : `${percent(ns, sheet.capacity_ns)}, ${seconds(ns)} s`);
  }
  for (const part of find("bar").children) part.style.width = `${ratio(sheet[part.className] ?? 0n, sheet.capacity_ns) * 100}%`;
};

const drawNotes = () => {
  const { sheet } = books;
  const notes = [...sheet.notes, ...sheet.reasons.map(([words, ns]) => `unattributed: ${words} ${group(BigInt(ns))} ns`)];
  if (source.audience && source.audience !== "all") notes.push(`the service shows this page the audience “${source.audience}”: time of other users is in “other”`);
  const of = notes.join("\n");
  if (find("notes").dataset.of === of) return;
  find("notes").dataset.of = of;
  find("notes").replaceChildren(...notes.map((note) => element("li", "", note)));
};

// The table.

const column = (key, isWide = true) => ({ key, label: headerOf(key, unitFor(books.sheet.length_ns)), kind: "figure", isWide });

// Those whose figures are there and not all 0. In a live table none goes away again.
const columnsOf = (rows) => {
  const names = new Set(books.sheet.names);
  const isUsed = (key) => rows.some((row) => (row.figures.get(key) ?? 0n) > 0n);
  for (const key of names) if (!keptColumns.has(key) && isUsed(key)) keptColumns.add(key);
  const hasStates = names.has("elapsed_ns");
  for (const button of find("views").children) {
    const { view } = button.dataset;
    // What nobody keeps yet can be asked for only now.
    const isThere = view === "states" ? hasStates : view === "cpu" || isLive() || ACCOUNTS[view].columns.some((key) => names.has(key));
    button.hidden = !isThere && view !== state.view;
  }
  find("views").hidden = [...find("views").children].filter((button) => !button.hidden).length < 2;
  const first = [{ key: "name", label: books.sheet.by.replace(/^./, (letter) => letter.toUpperCase()), kind: "name", isWide: false }];
  if (state.view === "states") {
    return [...first, { key: "bar", label: "What they did", kind: "bar", isWide: false }, column("self_ns", false), ...STATES.filter((key) => keptColumns.has(key)).map((key) => column(key))];
  }
  if (state.view in ACCOUNTS) return [...first, column("self_ns", false), ...ACCOUNTS[state.view].columns.map((key) => column(key, false))];
  const others = [...names].filter((key) => key !== "self_ns" && !COLUMNS.includes(key) && !OFF.includes(key));
  const more = [...COLUMNS, ...others].filter((key) => keptColumns.has(key)).map((key) => column(key));
  return [...first, column("self_ns", false), { key: "share", label: "Share (%)", kind: "share", isWide: false }, { key: "spark", label: "Time line", kind: "spark", isWide: true }, ...more];
};

// Rows of both spans, with the growth of their shares. Who is in no row of a span may be among its others.
const comparedRows = (before, sheet) => {
  const rows = new Map();
  for (const [key, own] of [["before_ns", before], ["after_ns", sheet]]) {
    for (const row of own.rows) {
      if (!rows.has(row.id)) rows.set(row.id, { ...row, figures: new Map() });
      rows.get(row.id).figures.set(key, row.self);
    }
    if (own.other.names === 0n) for (const row of rows.values()) if (!row.figures.has(key)) row.figures.set(key, 0n);
  }
  for (const row of rows.values()) {
    if (before.other.names === 0n && !row.figures.has("before_ns")) row.figures.set("before_ns", 0n);
    grow(row, before, sheet);
  }
  return [...rows.values()];
};

const grow = (row, before, sheet) => {
  const [a, b] = [row.figures.get("before_ns"), row.figures.get("after_ns")];
  if (a === undefined || b === undefined) return;
  row.growth = ratio(b, sheet.capacity_ns) - ratio(a, before.capacity_ns);
  row.texts = new Map([["growth", `${row.growth >= 0 ? "+" : "−"}${Math.abs(row.growth * 100).toFixed(1)} %`]]);
};

const compared = () => [column("before_ns", false), column("after_ns", false), { key: "growth", label: "Growth of share", kind: "text", isWide: false }];

const restsOf = (sheet) => [
  ["other", `other: ${group(sheet.other.names)} ${sheet.other.names === 1n ? "name" : "names"}, and what is not shown`, sheet.other.figures],
  ...(sheet.outside > 0n ? [["outside", "outside of what is shown", new Map([["self_ns", sheet.outside]])]] : []),
  ["idle", "idle, no task ran", new Map([["self_ns", sheet.idle_ns]])],
  ["unattributed", "unattributed time", new Map([["self_ns", sheet.unattributed_ns]])],
  ...(sheet.untold_ns > 0n ? [["untold", "idle, or not known to the source", new Map([["self_ns", sheet.untold_ns]])]] : []),
].map(([id, label, figures]) => ({ id, label, depth: 0, figures }));

const sorted = (rows, { key, descends }) => {
  if (key === "name") return [...rows].sort((one, other) => (descends ? -1 : 1) * one.label.localeCompare(other.label));
  const value = (row) => (key === "share" || key === "self_ns" ? row.self : key === "growth" ? row.growth ?? -Infinity : row.figures.get(key) ?? -1n);
  const valued = rows.map((row) => [value(row), row]);
  valued.sort(([a], [b]) => (a < b ? 1 : a > b ? -1 : 0) * (descends ? 1 : -1));
  return valued.map(([, row]) => row);
};

const missing = (view) => (isLive()
  ? ` Of ${view}, the first figures come two intervals after the question, if the service may keep them for readers: accounts or accounts_of_readers in its configuration.`
  : ` Nothing was kept of ${view} in this span.`);

const drawTable = (colored) => {
  const { sheet, before } = books;
  let rows = before ? comparedRows(before, sheet) : sheet.rows;
  let rests = restsOf(sheet);
  let columns = columnsOf(sheet.rows);
  let { sort } = state;
  if (before) {
    columns = [columns[0], ...compared()];
    const earlier = new Map(restsOf(before).map((rest) => [rest.id, rest.figures.get("self_ns")]));
    rests = rests.map((rest) => ({ ...rest, figures: new Map([["before_ns", earlier.get(rest.id) ?? 0n], ["after_ns", rest.figures.get("self_ns") ?? 0n]]) }));
    for (const rest of rests) grow(rest, before, sheet);
    if (!columns.some(({ key }) => key === sort.key)) sort = { key: "growth", descends: true };
  }
  const isTree = rows.some((row) => row.depth > 0);
  if (!isTree || sort.key !== "self_ns") rows = sorted(rows, sort);
  const wanted = find("search").value.toLowerCase();
  const found = wanted ? rows.filter((row) => row.label.toLowerCase().includes(wanted)) : rows;
  const cut = found.slice(0, rowsShown);
  const parts = books.line.parts.slice(-60);
  const most = Number(parts.reduce((top, part) => (part.capacity > top ? part.capacity : top), 1n));
  table.show({
    columns,
    sort,
    unit: unitFor(sheet.length_ns),
    capacity: sheet.capacity_ns,
    rows: cut,
    rest: rests,
    colored,
    // Small shares are seen, too: the height goes with the root.
    spark: (id) => (parts.length > 1 ? parts.map((part) => {
      const ns = part.used.get(id);
      return ns ? Math.max(Math.round(Math.sqrt(Number(ns) / most) * SPARK_HEIGHT), 1) : 0;
    }) : null),
  });
  find("rows").dataset.view = before ? "cpu" : state.view;
  find("more").hidden = found.length <= cut.length && (rowsShown > ROWS || sheet.other.names === 0n || !source.isLive);
  setText(find("more"), "Show more names");
  const what = isLive() ? "the last interval" : "the whole span";
  const isKept = !(state.view in ACCOUNTS) || ACCOUNTS[state.view].columns.some((key) => sheet.names.includes(key));
  const none = found.length === 0 && wanted ? ` No name has “${find("search").value}” in it.` : "";
  setText(find("table-note"), `${sheet.isPart ? "Of a part of a saved page, only CPU time is known." : `Sums of ${what}: rows, other, idle and unattributed time are the capacity, to the nanosecond.`}${isKept ? "" : missing(state.view)}${none}`);
};

// What the reader does.

const canPick = () => !source.isLive || state.by in FINER;

const pick = (id, label) => {
  if (!source.isLive) {
    find("search").value = find("search").value === label ? "" : label;
    render();
    return;
  }
  if (!(state.by in FINER) || state.within.length >= 4) return;
  change({ within: [...state.within, [state.by, id]], by: FINER[state.by] });
};

const lineSpan = () => {
  const { parts } = books.line;
  return parts.length > 0 ? { from: parts[0].from, to: parts.at(-1).to } : null;
};

// A span of the line that is shown stays where it is: a live line stops.
const select = (span) => change({ zoom: source.isLive ? state.zoom ?? lineSpan() : state.zoom, span });

const step = (by) => {
  const { parts } = books.line;
  if (parts.length === 0) return;
  const own = state.span ? parts.findIndex((part) => part.to >= state.span.to) : parts.length - (by < 0 && !isLive() ? 0 : 1);
  const place = Math.min(Math.max((own < 0 ? parts.length : own) + by, 0), parts.length - 1);
  select({ from: parts[place].from, to: parts[place].to });
};

const now = () => change({ zoom: null, span: null, base: null });

const pause = () => {
  if (!source.isLive) return;
  if (isLive()) step(0);
  else now();
};

const zoom = () => {
  if (state.span) change({ zoom: state.span, span: null });
};

const out = () => {
  const span = state.zoom;
  if (!span) return;
  if (!source.isLive) return change({ zoom: null });
  const half = (span.to - span.from) / 2n || 1n;
  change({ zoom: { from: span.from - half, to: span.to + half } });
};

const compare = () => {
  if (state.base) return change({ base: null });
  const base = spanOf() ?? (books.sheet ? { from: books.sheet.start, to: books.sheet.end } : null);
  if (base) change({ base, zoom: source.isLive ? state.zoom ?? lineSpan() : state.zoom });
};

const escape = () => {
  if (state.base) change({ base: null });
  else if (state.span) change({ span: null });
};

const cycle = () => {
  const place = source.dimensions.indexOf(state.by);
  change({ by: source.dimensions[(place + 1) % source.dimensions.length] });
};

const KEYS = {
  "(": () => step(-1), ")": () => step(1), b: () => step(-10), f: () => step(10), B: () => step(-60), v: () => step(60),
  "^": () => { const first = books.line.parts[0]; if (first) select({ from: first.from, to: first.to }); },
  $: now, z: zoom, x: out, g: cycle, c: compare, " ": pause, Escape: escape,
  w: () => change({ view: state.view === "cpu" ? "states" : "cpu" }),
  1: () => change({ view: "cpu" }), 2: () => change({ view: "states" }),
  ...Object.fromEntries(Object.entries(ACCOUNTS).map(([view, { key }]) => [key, () => change({ view })])),
  "/": () => find("search").focus(), "\\": () => find("search").focus(),
  Backspace: () => change({ within: state.within.slice(0, -1) }),
  "?": () => find("help").showModal(), h: () => find("help").showModal(),
};

const listen = () => {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || find("help").open) return;
    const isTyping = event.target instanceof HTMLInputElement;
    if (isTyping && event.key !== "Escape") return;
    if (isTyping) {
      find("search").value = "";
      find("search").blur();
      render();
      return;
    }
    // These are how buttons are pressed.
    if (event.key === " " && event.target instanceof HTMLButtonElement) return;
    const arrows = { ArrowLeft: "(", ArrowRight: ")" };
    const key = event.target === find("line") ? arrows[event.key] ?? event.key : event.key;
    if (!Object.hasOwn(KEYS, key)) return;
    event.preventDefault();
    KEYS[key]();
  });
  for (const [id, act] of Object.entries({ pause, zoom, out, compare, now, keys: KEYS["?"], close: () => find("help").close() })) {
    find(id).addEventListener("click", () => act());
  }
  find("search").addEventListener("input", render);
  find("more").addEventListener("click", () => {
    rowsShown = MOST_ROWS;
    load();
  });
  window.addEventListener("popstate", () => { recall(); load(); });
  window.addEventListener("hashchange", () => { recall(); load(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readTheme(); render(); });
  // A page that nobody sees costs nothing.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) source.stop?.();
    else if (isLive()) load();
  });
};

const choice = (box, key, names) => {
  find(box).replaceChildren(...names.map(([name, words]) => {
    const button = element("button", "", words);
    button.type = "button";
    button.dataset[key] = name;
    button.addEventListener("click", () => change({ [key]: name }));
    return button;
  }));
};

let [chart, table, icicle] = [null, null, null];

const start = async () => {
  readTheme();
  try {
    const data = find("data");
    source = data ? new Saved(JSON.parse(data.textContent)) : await Served.open();
  } catch (error) {
    say(`The page has nothing to show: ${error.message}.`);
    return;
  }
  chart = new LineChart(find("line"), find("chart"), find("tip"), { pick, select, zoom });
  table = new Table(find("rows"), {
    pick,
    canPick,
    sort: (key) => {
      state.sort = { key, descends: state.sort.key === key ? !state.sort.descends : key !== "name" };
      render();
    },
  });
  icicle = new Icicle(find("icicle"));
  choice("by", "by", source.dimensions.map((name) => [name, name.replace(/^./, (letter) => letter.toUpperCase())]));
  choice("views", "view", [["cpu", "CPU time"], ["states", "States"], ...Object.entries(ACCOUNTS).map(([view, { name }]) => [view, name])]);
  listen();
  recall();
  await load();
};

start();
