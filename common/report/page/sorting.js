// Sorts the rows of a table by a column, which its header's buttons choose.

// Returns the rows by their values, unknown ones last, equal ones as they were.
function sortedRows(rows, valueOf, down) {
  const sign = down ? -1 : 1;
  const text = (v) => typeof v === "string";
  const keyed = rows.map((row, i) => [valueOf(row), i, row]);
  keyed.sort(([a, i], [b, k]) => {
    if (a == null || b == null) return (a == null) - (b == null) || i - k;
    const by = text(a) || text(b) ? (String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0) : a - b;
    return by * sign || i - k;
  });
  return keyed.map(([, , row]) => row);
}

function sortButton(title, onclick) {
  return button(title, onclick, null, sign(""));
}

// Says in a header with such a button whether the rows are in the order of its column.
function markSorted(th, own, down) {
  if (own) th.setAttribute("aria-sort", down ? "descending" : "ascending");
  else th.removeAttribute("aria-sort");
  th.firstChild.lastChild.textContent = own ? (down ? "▼" : "▲") : "";
}
