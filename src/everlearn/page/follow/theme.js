// Light or dark, as the system prefers or as was chosen here before.
function dress(theme) {
  const dark = theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.body.classList.toggle("body--dark", dark);
}

dress(localStorage.getItem("everlearn.theme"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dress(localStorage.getItem("everlearn.theme")));
document.getElementById("theme").onclick = () => {
  const theme = document.body.classList.contains("body--dark") ? "light" : "dark";
  localStorage.setItem("everlearn.theme", theme);
  dress(theme);
};
