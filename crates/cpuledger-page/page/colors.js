// One colour for each name, wherever it is drawn. The first choice follows from the name, so it is mostly the same on another day.

const COLORS = 12;
const slots = new Map();

const hash = (text) => {
  let sum = 2166136261;
  for (let place = 0; place < text.length; place += 1) sum = Math.imul(sum ^ text.charCodeAt(place), 16777619);
  return sum >>> 0;
};

// Gives colours to these names, which are drawn together: those that have one keep it, the others differ from them as far as there are colours.
const assign = (labels) => {
  if (slots.size > 10000) slots.clear();
  const taken = new Array(COLORS).fill(0);
  const fresh = labels.filter((label) => !slots.has(label));
  for (const label of labels) if (slots.has(label)) taken[slots.get(label)] += 1;
  for (const label of fresh) {
    const least = Math.min(...taken);
    let slot = hash(label) % COLORS;
    while (taken[slot] > least) slot = (slot + 1) % COLORS;
    taken[slot] += 1;
    slots.set(label, slot);
  }
};

const slotOf = (label) => slots.get(label) ?? hash(label) % COLORS;

// The colours of the present theme, for what is drawn.
const theme = {};
const readTheme = () => {
  const style = getComputedStyle(document.documentElement);
  const names = ["back", "raised", "text", "soft", "line", "accent", "other", "unattributed", "missing"];
  for (const name of names) theme[name] = style.getPropertyValue(`--${name}`).trim();
  theme.names = Array.from({ length: COLORS }, (_, slot) => style.getPropertyValue(`--c${slot}`).trim());
};
