// The tree of accounting ancestry: each name above what descends from it, as wide as its time.

const ROW_HEIGHT = 24;
const MOST_DEPTH = 24;
// Boxes that are narrower are not drawn.
const LEAST_SHARE = 0.0015;

class Icicle {
  constructor(box) {
    Object.assign(this, { box, rows: [], root: null, boxes: [], isVisible: true });
    new ResizeObserver(() => this.draw()).observe(box);
    // What nobody sees is drawn when it is seen.
    new IntersectionObserver(([{ isIntersecting }]) => {
      this.isVisible = isIntersecting;
      if (isIntersecting) this.show(this.latest ?? []);
    }, { rootMargin: "200px" }).observe(box.parentElement);
  }

  // Rows come each below what it descends from.
  show(rows) {
    this.latest = rows;
    if (!this.isVisible && this.boxes.length > 0) return;
    const path = [];
    this.rows = rows.map((row) => {
      path.length = row.depth;
      path.push(row.label);
      return { ...row, path: path.join("\n"), total: row.self + row.below };
    });
    this.draw();
  }

  // The rows that are drawn: those of the one that is zoomed to, and those above it at full width.
  visible() {
    const root = this.rows.findIndex((row) => row.path === this.root);
    if (root < 0) {
      const whole = this.rows.reduce((sum, row) => (row.depth === 0 ? sum + row.total : sum), 0n);
      return { above: [], rows: this.rows, depth: 0, whole };
    }
    const own = this.rows[root];
    const above = this.rows.slice(0, root).filter((row) => own.path.startsWith(`${row.path}\n`));
    const after = this.rows.slice(root + 1);
    const end = after.findIndex((row) => row.depth <= own.depth);
    return { above, rows: [own, ...(end < 0 ? after : after.slice(0, end))], depth: own.depth, whole: own.total };
  }

  draw() {
    const { above, rows, depth, whole } = this.visible();
    const drawn = above.map((row) => ({ row, left: 0, width: 1 }));
    const next = [0n];
    for (const row of rows) {
      const place = row.depth - depth;
      if (row.depth >= MOST_DEPTH || whole === 0n) continue;
      const begin = next[place] ?? 0n;
      next[place] = begin + row.total;
      next[place + 1] = begin;
      const width = ratio(row.total, whole);
      if (width >= LEAST_SHARE) drawn.push({ row, left: ratio(begin, whole), width });
    }
    const deepest = drawn.reduce((most, { row }) => Math.max(most, row.depth), 0);
    const height = `${(deepest + 1) * ROW_HEIGHT}px`;
    if (this.box.style.height !== height) this.box.style.height = height;
    while (this.boxes.length > drawn.length) this.boxes.pop().remove();
    drawn.forEach((own, place) => this.put(place, own));
  }

  put(place, { row, left, width }) {
    let box = this.boxes[place];
    if (!box) {
      box = element("button", "");
      box.type = "button";
      box.append(element("bdi"));
      box.addEventListener("click", () => {
        this.root = this.root === box.path ? null : box.path;
        this.draw();
      });
      this.boxes.push(box);
      this.box.append(box);
    }
    box.path = row.path;
    const signature = [slotOf(row.label), left, width, row.depth, row.self, row.below, row.label].join();
    if (box.signature === signature) return;
    box.signature = signature;
    box.className = `c${slotOf(row.label)}`;
    box.style.left = `${left * 100}%`;
    box.style.width = `${width * 100}%`;
    box.style.top = `${row.depth * ROW_HEIGHT}px`;
    box.dataset.selfNs = String(row.self);
    box.dataset.belowNs = String(row.below);
    setText(box.firstChild, row.label);
    box.title = `${row.label}: ${seconds(row.total)} s, ${percent(row.self, row.total)} of it itself`;
  }
}
