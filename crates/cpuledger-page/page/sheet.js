// Sheets as they come, and the time line that they become. A figure that no interval has told is null, and never 0.

const known = (text) => (text === null || text === undefined ? null : BigInt(text));

const TOTALS = ["intervals", "length_ns", "capacity_ns", "attributed_ns", "idle_ns", "unattributed_ns", "untold_ns", "hidden_ns", "stolen_ns"];

// Figures by name, as a row lists them. They become numbers when somebody asks.
class Figures {
  constructor(places, values) {
    Object.assign(this, { places, values });
  }

  text(name) {
    const place = this.places.get(name);
    return place === undefined ? null : this.values[place];
  }

  has(name) { return this.text(name) !== null; }

  get(name) {
    const text = this.text(name);
    return text === null ? undefined : BigInt(text);
  }
}

// The digits of a figure, of a row as it came or of one that was added up here. Null: it is not known.
const digitsOf = (figures, name) => {
  if (figures instanceof Figures) return figures.text(name);
  const value = figures.get(name);
  return value === undefined ? null : String(value);
};

const sheetOf = (json) => {
  const sheet = { by: json.by, source: json.source, notes: json.notes || [], reasons: json.reasons || [], isPart: false };
  sheet.start = known(json.start_ns) ?? 0n;
  sheet.end = known(json.end_ns) ?? 0n;
  for (const key of TOTALS) sheet[key] = known(json[key]);
  sheet.outside = known(json.outside_ns) ?? 0n;
  const places = new Map(json.figures.map((name, place) => [name, place]));
  sheet.names = json.figures.filter((_, place) => json.rows.some((row) => row.values[place] !== null));
  sheet.rows = json.rows.map((row) => ({
    id: row.id,
    label: row.label,
    depth: row.depth || 0,
    figures: new Figures(places, row.values),
    self: BigInt(row.values[0]),
    points: row.points || [],
  }));
  sheet.other = { names: BigInt(json.other.names), figures: new Figures(places, json.other.values) };
  sheet.ancestry = (json.ancestry || []).map(([depth, label, self, below]) => ({ depth, label, self: BigInt(self), below: BigInt(below) }));
  sheet.line = json.line || null;
  return sheet;
};

// Names of an interval that the line tells apart; those of a saved page or a span are as many as it has rows.
const TOLD = 100;

// A time line: parts with their times, their balance and what each name used in them.
const lineOf = (sheet) => {
  const line = { parts: [], labels: new Map() };
  if (!sheet.line) return line;
  let from = BigInt(sheet.line.since_ns);
  const bucket = BigInt(sheet.line.bucket_ns);
  for (const figures of sheet.line.buckets) {
    const [capacity, attributed, idle, unattributed, untold, intervals] = figures.map(BigInt);
    line.parts.push({ from, to: from + bucket, capacity, attributed, idle, unattributed, untold, intervals, used: new Map() });
    from += bucket;
  }
  for (const row of sheet.rows) {
    line.labels.set(row.id, row.label);
    for (const [bucket, ns] of row.points) line.parts[bucket]?.used.set(row.id, BigInt(ns));
  }
  line.parts = withoutHoles(line.parts);
  return line;
};

// A late interval may be counted in the part before or after its own. Then both are one: something is recorded there.
const withoutHoles = (parts) => {
  const whole = [];
  parts.forEach((part, place) => {
    const [last, next] = [whole.at(-1), parts[place + 1]];
    if (part.intervals > 0n) whole.push(part);
    else if (last && last.to === part.from && last.intervals > 1n) last.to = part.to;
    else if (next && next.intervals > 1n) next.from = part.from;
    else whole.push(part);
  });
  return whole;
};

// An interval becomes the last part of the line. False: there is a gap before it.
const extend = (line, sheet, longest) => {
  const last = line.parts.at(-1);
  const middle = (sheet.start + sheet.end) / 2n;
  if (last && middle < last.to) return true;
  const isNext = !last || sheet.start - last.to < (sheet.end - sheet.start) / 2n;
  const used = new Map();
  for (const row of sheet.rows.slice(0, TOLD)) {
    if (row.self === 0n) continue;
    used.set(row.id, row.self);
    line.labels.set(row.id, row.label);
  }
  line.parts.push({
    from: last && isNext ? last.to : sheet.start,
    to: sheet.end,
    capacity: sheet.capacity_ns,
    attributed: sheet.attributed_ns,
    idle: sheet.idle_ns,
    unattributed: sheet.unattributed_ns,
    untold: sheet.untold_ns,
    intervals: sheet.intervals,
    used,
  });
  if (line.sums) book(line.sums, used, 1n);
  while (line.parts.length > 1 && line.parts[0].from < sheet.end - longest) {
    const gone = line.parts.shift();
    if (line.sums) book(line.sums, gone.used, -1n);
  }
  if (line.parts.length % 60 === 0) {
    const seen = new Set(line.parts.flatMap((part) => [...part.used.keys()]));
    for (const id of line.labels.keys()) if (!seen.has(id)) line.labels.delete(id);
  }
  return isNext;
};

const isWithin = (part, span) => {
  const middle = (part.from + part.to) / 2n;
  return !span || (middle >= span.from && middle < span.to);
};

// Adds to sums by name, or takes away.
const book = (sums, used, sign) => {
  for (const [id, ns] of used) {
    const sum = (sums.get(id) ?? 0n) + sign * ns;
    if (sum === 0n) sums.delete(id);
    else sums.set(id, sum);
  }
};

const sortedSums = (sums) => [...sums].sort(([, one], [, other]) => (one < other ? 1 : one > other ? -1 : 0));

// What names used in the parts of a span, those with the most first.
const usedIn = (line, span) => {
  const sums = new Map();
  for (const part of line.parts) if (isWithin(part, span)) book(sums, part.used, 1n);
  return sortedSums(sums);
};

// Likewise in all parts: the sums are kept while the line grows.
const usedInAll = (line) => {
  if (!line.sums) {
    line.sums = new Map();
    for (const part of line.parts) book(line.sums, part.used, 1n);
  }
  return sortedSums(line.sums);
};

// A sheet of a part of a line: CPU time alone is known by time.
const sumOf = (whole, line, span) => {
  const parts = line.parts.filter((part) => isWithin(part, span));
  const sum = (key) => parts.reduce((total, part) => total + part[key], 0n);
  const used = usedIn(line, span);
  const named = used.reduce((total, [, ns]) => total + ns, 0n);
  return {
    ...whole,
    isPart: true,
    names: ["self_ns"],
    start: parts[0]?.from ?? span.from,
    end: parts.at(-1)?.to ?? span.to,
    intervals: sum("intervals"),
    capacity_ns: sum("capacity"),
    attributed_ns: sum("attributed"),
    idle_ns: sum("idle"),
    unattributed_ns: sum("unattributed"),
    untold_ns: sum("untold"),
    stolen_ns: null,
    length_ns: parts.reduce((total, part) => total + part.to - part.from, 0n),
    rows: used.map(([id, ns]) => ({ id, label: line.labels.get(id), depth: 0, figures: new Map([["self_ns", ns]]), self: ns, points: [] })),
    other: { names: whole.other.names, figures: new Map([["self_ns", sum("attributed") - named]]) },
    ancestry: [],
    reasons: [],
  };
};
