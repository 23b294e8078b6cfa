"use strict";
(() => {
  const table = document.getElementById("rows");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const name = (row) => row.cells[0].textContent;

  const search = document.getElementById("search");
  search.addEventListener("input", () => {
    const wanted = search.value.toLowerCase();
    for (const row of rows) row.hidden = !name(row).toLowerCase().includes(wanted);
  });

  // The numbers are larger than what a script counts exactly.
  const number = (row, index) => {
    const data = Object.values(row.cells[index].dataset)[0];
    return data === undefined ? -1n : BigInt(data);
  };
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, index) => head.addEventListener("click", () => {
    const key = head.dataset.key;
    const place = key === "share" ? index - 1 : index;
    const descends = head.getAttribute("aria-sort") !== "descending" && key !== "name";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", descends ? "descending" : "ascending");
    rows.sort((one, other) => {
      if (key === "name") return name(one).localeCompare(name(other));
      const [a, b] = [number(one, place), number(other, place)];
      const order = a < b ? -1 : a > b ? 1 : 0;
      return descends ? -order : order;
    });
    rows.forEach((row) => body.append(row));
  }));
})();
