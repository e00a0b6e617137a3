// Shows what a directory holds while it grows: it asks the server for the parts of the page once per second, with what
// was chosen in the form, and puts them in their places.
const form = document.getElementById("form");
const place = (name) => document.querySelector(`[data-part="${name}"]`);
const last = {}; // what was put in each place: the browser would give it back in other words
let asked = 0, timer;

async function look() {
  clearTimeout(timer);
  const number = ++asked, query = new URLSearchParams(new FormData(form));
  query.set("width", form.clientWidth);
  let parts;
  try {
    parts = await (await fetch(`look?${query}`)).json();
  } catch {
    parts = { alert: "The server does not answer any more. This is what it last said." };
  }
  if (number !== asked) return; // something else was chosen in the meantime
  show(parts);
  timer = setTimeout(look, document.hidden ? 10000 : 1000);
}

function show(parts) {
  const focused = document.activeElement?.id, tops = [...document.querySelectorAll(".scroll")].map((e) => [e.id, e.scrollTop]);
  for (const [name, text] of Object.entries(parts)) {
    const opened = document.activeElement.matches("select") && place(name).contains(document.activeElement);
    if (last[name] === text || opened) continue;
    place(name).innerHTML = last[name] = text;
  }
  place("alert").hidden = !parts.alert;
  for (const [id, top] of tops) if (id) document.getElementById(id).scrollTop = top;
  if (focused && document.activeElement.id !== focused) document.getElementById(focused)?.focus();
  document.body.dataset.shown = Number(document.body.dataset.shown ?? 0) + 1;
}

form.addEventListener("change", look);
form.addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("visibilitychange", () => document.hidden || look());
new ResizeObserver(look).observe(form); // also begins
