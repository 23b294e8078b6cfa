// The stacked time line.

const HEIGHT = 240;
const LEFT = 64;
const TOP = 8;
const BOTTOM = 22;
const NAMED = 10;

// Steps between times on the axis, in seconds.
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000];

class LineChart {
  constructor(box, canvas, tip, on) {
    Object.assign(this, { box, canvas, tip, on, model: null, dragged: null, width: box.clientWidth });
    box.addEventListener("pointerdown", (event) => this.press(event));
    box.addEventListener("pointermove", (event) => this.move(event));
    box.addEventListener("pointerup", (event) => this.release(event));
    box.addEventListener("pointercancel", () => this.cancel());
    box.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    box.addEventListener("dblclick", () => this.on.zoom());
    new ResizeObserver(() => {
      this.width = box.clientWidth;
      this.draw();
    }).observe(box);
  }

  // model: line, layers (id, label, color), cpus, span, selection, base.
  show(model) {
    this.model = model;
    this.draw();
  }

  x(ns) {
    const { from, to } = this.model.span;
    return LEFT + (Number(ns - from) / Math.max(Number(to - from), 1)) * (this.width - LEFT);
  }

  time(x) {
    const { from, to } = this.model.span;
    const share = Math.min(Math.max((x - LEFT) / Math.max(this.width - LEFT, 1), 0), 1);
    return from + BigInt(Math.round(share * Number(to - from)));
  }

  y(cpus) { return TOP + (1 - Math.min(cpus / this.most, 1)) * (HEIGHT - TOP - BOTTOM); }

  // CPUs in the mean over a part: its share of all of them, however long its intervals were.
  cpus(ns, part) { return part.capacity > 0n ? (Number(ns) / Number(part.capacity)) * this.model.cpus : 0; }

  partAt(ns) { return this.model.line.parts.find((part) => ns >= part.from && ns < part.to); }

  scale() {
    const busiest = Math.max(0, ...this.model.line.parts.map((part) => this.cpus(part.attributed + part.unattributed, part)));
    const capacity = this.model.cpus;
    // A quiet machine is drawn larger than it is, and its axis says so.
    const nice = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((step) => step >= busiest * 1.05);
    this.most = Math.max(Math.min(nice ?? capacity, capacity), 0.01);
  }

  draw() {
    if (!this.model || this.width === 0) return;
    const pixels = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(this.width * pixels), Math.round(HEIGHT * pixels)];
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    const pen = this.canvas.getContext("2d");
    pen.setTransform(pixels, 0, 0, pixels, 0, 0);
    pen.clearRect(0, 0, this.width, HEIGHT);
    this.scale();
    this.drawAxes(pen);
    this.drawStack(pen);
    if (this.model.base) this.drawSpan(pen, this.model.base, theme.soft, "A");
    if (this.model.selection) this.drawSpan(pen, this.model.selection, theme.accent, this.model.base ? "B" : "");
    if (this.dragged) this.drawSpan(pen, this.draggedSpan(), theme.accent, "");
  }

  drawAxes(pen) {
    pen.font = "11px system-ui, sans-serif";
    pen.lineWidth = 1;
    pen.strokeStyle = theme.line;
    pen.fillStyle = theme.soft;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      const [cpus, y] = [share * this.most, Math.round(this.y(share * this.most)) + 0.5];
      pen.beginPath();
      pen.moveTo(LEFT, y);
      pen.lineTo(this.width, y);
      pen.stroke();
      pen.fillText(`${Number(cpus.toPrecision(3))} ${cpus === 1 ? "CPU" : "CPUs"}`, LEFT - 6, y);
    }
    const { from, to } = this.model.span;
    const most = Math.max(Math.floor((this.width - LEFT) / 90), 1);
    const step = STEPS.find((own) => Number(to - from) / 1e9 / own <= most) ?? STEPS.at(-1);
    const zone = BigInt(date(from).getTimezoneOffset()) * 60n * SECOND;
    const by = BigInt(step) * SECOND;
    pen.textBaseline = "alphabetic";
    pen.textAlign = "center";
    for (let at = ((from - zone) / by + 1n) * by + zone; at < to; at += by) {
      const x = Math.round(this.x(at)) + 0.5;
      pen.beginPath();
      pen.moveTo(x, HEIGHT - BOTTOM);
      pen.lineTo(x, HEIGHT - BOTTOM + 4);
      pen.stroke();
      const isDay = step >= 86400 || clock(at) === "00:00:00";
      const text = isDay ? day(at).slice(5) : step >= 60 ? clock(at).slice(0, 5) : clock(at);
      if (x > LEFT + 20 && x < this.width - 20) pen.fillText(text, x, HEIGHT - 6);
    }
  }

  // Each layer reaches down to the axis, and is covered by those below it: so it is one line of steps.
  drawStack(pen) {
    const { line, layers } = this.model;
    const sums = line.parts.map((part) => {
      let sum = 0n;
      const tops = layers.map(({ id }) => (sum += part.used.get(id) ?? 0n));
      return [...tops, part.attributed, part.attributed + part.unattributed];
    });
    const colors = [...layers.map(({ color }) => color), theme.other, theme.unattributed];
    const edges = line.parts.map((part) => [Math.round(this.x(part.from)), Math.round(this.x(part.to))]);
    const floor = this.y(0);
    for (let layer = colors.length - 1; layer >= 0; layer -= 1) {
      pen.fillStyle = colors[layer];
      pen.beginPath();
      pen.moveTo(edges[0]?.[0] ?? LEFT, floor);
      line.parts.forEach((part, place) => {
        const y = Math.round(this.y(this.cpus(sums[place][layer], part)));
        if (place > 0 && edges[place][0] > edges[place - 1][1]) {
          pen.lineTo(edges[place - 1][1], floor);
          pen.lineTo(edges[place][0], floor);
        }
        pen.lineTo(edges[place][0], y);
        pen.lineTo(edges[place][1], y);
      });
      pen.lineTo(edges.at(-1)?.[1] ?? LEFT, floor);
      pen.fill();
    }
    pen.fillStyle = theme.missing;
    let end = null;
    for (const part of line.parts) {
      const isGap = end !== null && part.from > end;
      if (isGap) pen.fillRect(this.x(end), TOP, this.x(part.from) - this.x(end), HEIGHT - TOP - BOTTOM);
      if (part.intervals === 0n) pen.fillRect(this.x(part.from), TOP, this.x(part.to) - this.x(part.from), HEIGHT - TOP - BOTTOM);
      end = part.to;
    }
  }

  drawSpan(pen, span, color, name) {
    const [left, right] = [Math.max(this.x(span.from), LEFT), Math.min(this.x(span.to), this.width)];
    if (right < LEFT || left > this.width) return;
    pen.save();
    pen.globalAlpha = 0.15;
    pen.fillStyle = color;
    pen.fillRect(left, 0, Math.max(right - left, 2), HEIGHT - BOTTOM);
    pen.globalAlpha = 1;
    pen.strokeStyle = color;
    pen.lineWidth = 1.5;
    pen.strokeRect(left, 0.75, Math.max(right - left, 2), HEIGHT - BOTTOM - 1.5);
    pen.fillStyle = color;
    pen.font = "bold 13px system-ui, sans-serif";
    pen.textAlign = "left";
    if (name) pen.fillText(name, left + 5, 16);
    pen.restore();
  }

  at(event) {
    const box = this.box.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  draggedSpan() {
    const [one, other] = [this.dragged.from, this.dragged.to].map((x) => this.time(x));
    return one < other ? { from: one, to: other } : { from: other, to: one };
  }

  press(event) {
    if (event.button !== 0 || !this.model) return;
    const { x } = this.at(event);
    this.dragged = { from: x, to: x };
    this.box.setPointerCapture(event.pointerId);
  }

  move(event) {
    if (!this.model) return;
    const at = this.at(event);
    if (this.dragged) {
      this.dragged.to = at.x;
      this.draw();
    }
    this.point(at);
  }

  // Of whole parts, as these are what is counted.
  release(event) {
    if (!this.dragged) return;
    const span = this.draggedSpan();
    const isClick = Math.abs(this.dragged.to - this.dragged.from) < 4;
    this.dragged = null;
    if (isClick) {
      const layer = this.layerAt(this.at(event));
      if (layer?.id) this.on.pick(layer.id, layer.label);
    } else {
      const parts = this.model.line.parts.filter((part) => part.to > span.from && part.from < span.to);
      if (parts.length > 0) this.on.select({ from: parts[0].from, to: parts.at(-1).to });
    }
    this.draw();
  }

  cancel() {
    this.dragged = null;
    this.draw();
  }

  layerAt({ x, y }) {
    const part = this.partAt(this.time(x));
    if (!part || x < LEFT) return null;
    const cpus = (1 - (y - TOP) / (HEIGHT - TOP - BOTTOM)) * this.most;
    let sum = 0n;
    for (const layer of this.model.layers) {
      const ns = part.used.get(layer.id) ?? 0n;
      sum += ns;
      if (this.cpus(sum, part) >= cpus) return { ...layer, part, ns };
    }
    if (this.cpus(part.attributed, part) >= cpus) return { label: "others", part, ns: part.attributed - sum };
    if (this.cpus(part.attributed + part.unattributed, part) >= cpus) return { label: "unattributed", part, ns: part.unattributed };
    return { label: part.intervals === 0n ? "not recorded" : "idle", part, ns: part.idle };
  }

  point(at) {
    const layer = this.layerAt(at);
    this.tip.hidden = !layer;
    if (!layer) return;
    this.tip.textContent = `${clock(layer.part.from)}  ${layer.label}: ${seconds(layer.ns)} s, ${percent(layer.ns, layer.part.capacity)}`;
    const left = Math.min(at.x + 12, Math.max(this.width - this.tip.offsetWidth - 4, 0));
    this.tip.style.transform = `translate(${left}px, ${Math.max(at.y - 34, 0)}px)`;
  }
}
