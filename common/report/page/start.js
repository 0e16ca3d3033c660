// Shows the report that is embedded in the page.

const embedded = document.getElementById("document").textContent.trim();
if (embedded) {
  const parsed = JSON.parse(embedded);
  showReport(document.getElementById("page"), parsed.report || parsed);
}
