// Numbers: nanoseconds and counts are BigInt, as large ones are not exact otherwise.

const SECOND = 1000000000n;

// With commas: quicker than what the browser has for all languages.
const group = (number) => {
  let text = String(number);
  for (let place = text.length - 3; place > 0; place -= 3) text = `${text.slice(0, place)},${text.slice(place)}`;
  return text;
};

// The digits of a number of units that are 10^`places` times as large, with three decimals: digits are quicker to cut than numbers to divide.
const scaled = (digits, places) => {
  const text = digits.padStart(places + 1, "0");
  return `${group(text.slice(0, -places))}.${text.slice(-places).slice(0, 3)}`;
};

// As 1,234.567 seconds.
const seconds = (ns) => scaled(String(ns), 9);

// Short spans are in milliseconds, long ones in seconds.
const unitFor = (span) => (span < 60n * SECOND ? "ms" : "s");
const timeIn = (unit, digits) => scaled(digits, unit === "ms" ? 6 : 9);

// The ratio as a number: what is drawn, and never what is counted.
const ratio = (part, whole) => (whole > 0n ? Number((part * 1000000n) / whole) / 1000000 : 0);

const percent = (part, whole) => `${(ratio(part, whole) * 100).toFixed(1)} %`;

// An instant as the reader's clock shows it.
const date = (ns) => new Date(Number(ns / 1000000n));
const two = (number) => String(number).padStart(2, "0");
const clock = (ns) => {
  const at = date(ns);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
};
const day = (ns) => {
  const at = date(ns);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
};
const instant = (ns) => `${day(ns)} ${clock(ns)}`;

// A length in words, as 5 min or 1.5 s.
const length = (ns) => {
  const s = Number(ns / 1000n) / 1000000;
  if (s < 60) return `${Number(s.toFixed(1))} s`;
  if (s < 3600) return `${Number((s / 60).toFixed(1))} min`;
  if (s < 172800) return `${Number((s / 3600).toFixed(1))} h`;
  return `${Number((s / 86400).toFixed(1))} days`;
};

// Instants in links: 2026-03-01T03:12:00.5Z, to the nanosecond.
const written = (ns) => {
  const whole = new Date(Number(ns / SECOND) * 1000).toISOString().slice(0, 19);
  const rest = String(ns % SECOND).padStart(9, "0").replace(/0+$/, "");
  return `${whole}${rest ? `.${rest}` : ""}Z`;
};
const read = (text) => {
  if (/^\d{16,19}$/.test(text)) return BigInt(text);
  const parts = /^(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?$/.exec(text);
  if (!parts) return null;
  const ms = Date.parse(`${parts[1]}${parts[3] || ""}`);
  return Number.isNaN(ms) ? null : BigInt(ms) * 1000000n + BigInt((parts[2] || "0").padEnd(9, "0"));
};
