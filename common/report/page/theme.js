// Chooses between light and dark.

const themed = [];  // called when the colours have changed
let theme = "auto";
// Storage is blocked for some file URLs and by some privacy settings. Then a choice lasts as long as the page.
try { theme = localStorage.getItem("paceline-theme") || "auto"; } catch { }

function applyTheme() {
  const dark = theme === "dark" || theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  for (const call of themed) call();
}

function themeChoice() {
  const names = {auto: "System", light: "Light", dark: "Dark"};
  const select = el("select", {onchange: () => {
    theme = select.value;
    try { localStorage.setItem("paceline-theme", theme); } catch { }
    applyTheme();
  }}, Object.entries(names).map(([value, text]) => el("option", {value, selected: value === theme}, text)));
  return el("label", {class: "field"}, el("span", null, "Theme"), select);
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
applyTheme();
