// Where sheets come from: the page itself, or the server that has sent it.

class Saved {
  constructor(data) {
    this.host = data.host;
    this.isLive = false;
    this.sheets = data.sheets.map(sheetOf);
    this.dimensions = this.sheets.map((sheet) => sheet.by);
    for (const sheet of this.sheets) sheet.ancestry = this.sheets[0].ancestry;
  }

  sheet(by) { return this.sheets.find((sheet) => sheet.by === by) ?? this.sheets[0]; }

  // Ancestors have no time line of their own: that of commands stands for it.
  timed(by) {
    const own = this.sheet(by);
    return own.by === "ancestor" ? this.sheet("command") : own;
  }
}

class Served {
  constructor(about) {
    this.host = about.host;
    this.isLive = true;
    this.dimensions = about.dimensions;
    this.audience = about.audience;
    this.stream = null;
  }

  static async open() {
    const answer = await fetch("about");
    if (!answer.ok) throw new Error((await answer.text()).trim());
    return new Served(await answer.json());
  }

  query(by, within, more) {
    const query = new URLSearchParams({ by, ...more });
    for (const [dimension, id] of within) query.append("within", `${dimension}:${id}`);
    return query;
  }

  // `null`: the service has no interval yet.
  async history(by, within, more, signal) {
    const answer = await fetch(`history?${this.query(by, within, more)}`, { signal });
    if (!answer.ok) throw new Error((await answer.text()).trim());
    if (answer.status === 204) return null;
    return sheetOf(await answer.json());
  }

  // Intervals as they come, until the next call or `stop`.
  follow(by, within, more, on) {
    this.stop();
    const stream = new EventSource(`live?${this.query(by, within, more)}`);
    this.stream = stream;
    stream.addEventListener("message", (event) => on.sheet(sheetOf(JSON.parse(event.data))));
    stream.addEventListener("gone", (event) => on.gone(event.data));
    stream.addEventListener("error", () => on.gone("the connection is interrupted", stream.readyState === EventSource.CLOSED));
  }

  stop() {
    this.stream?.close();
    this.stream = null;
  }
}
