"use strict";
(() => {
  const table = document.getElementById("hosts");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows, row => ({
    row, text: row.textContent.toLowerCase(), cells: Array.from(row.cells, cell => cell.textContent),
  }));
  const words = document.getElementById("words");
  const state = document.getElementById("state");
  const shown = document.getElementById("shown");
  const order = new Intl.Collator("en", { numeric: true });
  let column = -1, direction = 1;
  function filter() {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const entry of rows) {
      const fits = (!state.value || entry.cells[1] === state.value) && wanted.every(word => entry.text.includes(word));
      entry.row.hidden = !fits;
      count += fits;
    }
    shown.textContent = count + " of " + rows.length + " shown";
  }
  function sort(number) {
    direction = number === column ? -direction : 1;
    column = number;
    rows.sort((one, other) => direction * order.compare(one.cells[number], other.cells[number]));
    body.remove(); // the rows move where nothing has to be laid out
    body.append(...rows.map(entry => entry.row));
    table.append(body);
    table.querySelectorAll("th").forEach((head, index) => {
      head.ariaSort = index === number ? (direction > 0 ? "ascending" : "descending") : "none";
    });
  }
  words.addEventListener("input", filter);
  state.addEventListener("input", filter);
  table.querySelectorAll("th button").forEach((button, number) => button.addEventListener("click", () => sort(number)));
  filter();
})();
