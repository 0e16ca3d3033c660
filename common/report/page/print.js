// Prepares a page for paper: light colours, all details open, and tables of limited length.

// print: called with true before and with false after printing.
function addPrinting(print) {
  let closed = [];
  addEventListener("beforeprint", () => {
    document.documentElement.dataset.theme = "light";
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const d of closed) d.open = true;
    print(true);
  });
  addEventListener("afterprint", () => {
    for (const d of closed) d.open = false;
    applyTheme();
    print(false);
  });
}
