// Light or dark, as the system prefers or as was chosen here before.
function dress(theme) {
  const dark = theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.body.classList.toggle("body--dark", dark);
}

// The browser may deny storage; then nothing is remembered.
const stored = {
  get() { try { return localStorage.getItem("everlearn.theme"); } catch { return null; } },
  set(theme) { try { localStorage.setItem("everlearn.theme", theme); } catch { /* denied */ } },
};

dress(stored.get());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dress(stored.get()));
document.getElementById("theme").onclick = () => {
  const theme = document.body.classList.contains("body--dark") ? "light" : "dark";
  stored.set(theme);
  dress(theme);
};
