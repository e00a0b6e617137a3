// The page around the engine: forty steps by hand, then a race on the same luck.
"use strict";

const LENGTH = 40, DECADE = 3000, CALM = 1000, WAIT = 320, OPTIMUM = 0.5, HIGHEST = 0.6;
const NAMES = { you: "you", slow: "always slow", smooth: "the paper's schedule", practical: "our schedule" };
const get = (id) => document.getElementById(id);
const show = (number) => number.toFixed(3).replace(/^-0\.000$/, "0.000");
const count = (number) => number.toLocaleString("en");
const narrow = () => matchMedia("(max-width: 860px)").matches;
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
let data, place = 0, you, runs, shown, hidden = new Set(), running = false, waiting = 0;

// The picture of the station.

function person(x, y, kind, scale) {
  const w = 12 * scale, body = y - 27 * scale + w;
  return `<circle class="${kind}" cx="${x}" cy="${y - 39 * scale}" r="${9 * scale}"/>` +
    `<path class="${kind}" d="M${x - w} ${y} V${body} q0 ${-w} ${w} ${-w} q${w} 0 ${w} ${w} V${y} Z"/>`;
}

function face(x, y, service) {
  const kind = service === undefined ? "none" : service > 1 ? "sour" : "happy";
  const mouth = { happy: "q5 6 10 0", sour: "q5 -6 10 0", none: "" }[kind];
  const eyes = kind === "none" ? "" : `M${x - 4} ${y - 3} v.1 M${x + 4} ${y - 3} v.1`;
  const lips = mouth && `M${x - 5} ${y + (kind === "sour" ? 6 : 3)} ${mouth}`;
  return `<circle class="face ${kind}" cx="${x}" cy="${y}" r="12"/><path class="face ${kind}" d="${eyes} ${lips}"/>`;
}

/** Mark the face of the longest wait that people remember, which alone decides how likely the next customer is. */
function mark(services) {
  const longest = Math.max(...services), k = services.indexOf(longest), x = 26 + 35.2 * k;
  if (!(longest > 1)) return "";
  const [anchor, at] = k < 2 ? ["start", x - 12] : k > 9 ? ["end", x + 12] : ["middle", x];
  return `<circle class="guilty" cx="${x}" cy="242" r="15"/><text class="out" x="${at}" y="273" text-anchor="${anchor}">waited ${longest} steps</text>`;
}

function drawStation(run) {
  const { station, latest } = run, { services, arrival } = station;
  const mode = !latest?.served ? "open" : latest.action === FAST ? "fast" : "slow";
  const crowd = Math.round(5 * arrival) || 1, sour = services.filter((steps) => steps > 1).length;
  const said = `${station.present ? "A customer is here." : "Nobody is here."} The till has ${run.total}. ` +
    `${sour} of the last ${services.length} customers waited. The next customer comes with probability ${arrival.toFixed(2)}.`;
  const money = !latest ? "" : (latest.arrives ? '<text class="in strong float" x="206" y="124">+1</text>' : "") +
    (latest.cost ? '<text class="out strong float" x="38" y="112">−½</text>' : "");
  return `<svg viewBox="0 0 440 302" role="img" aria-label="${said}">
    <path class="wall" d="M14 40 L146 14 L278 40 V54 H14 Z"/><path class="post" d="M28 54 V186 M264 54 V186"/>
    <rect class="sign ${mode}" x="100" y="60" width="92" height="28" rx="14"/><text class="mode" x="146" y="79" text-anchor="middle">${mode.toUpperCase()}</text>
    ${person(82, 146, "person", 1.2)}<rect class="wall" x="46" y="142" width="72" height="44" rx="4"/>
    ${person(180, 186, station.present ? "guest" : "gone", 1.45)}${money}
    <path class="street" d="M8 186 H432"/>
    <text class="soft" x="360" y="112" text-anchor="middle">next customer</text>
    <text class="strong" x="360" y="131" text-anchor="middle">${Math.round(100 * arrival)}% likely</text>
    ${[0, 1, 2, 3, 4].map((k) => person(302 + 28 * k, 186, k < crowd ? "person" : "gone", 0.9)).join("")}
    <text class="soft" x="14" y="212">till</text><text class="strong" x="44" y="213">${run.total}</text>
    <text class="soft" x="426" y="212" text-anchor="end">step ${count(run.t)} of ${LENGTH}</text>
    ${Array.from({ length: WINDOW }, (_, k) => face(26 + 35.2 * k, 242, services[k])).join("")}
    ${mark(services)}
    <text class="soft" x="14" y="294">the last customer</text><text class="soft" x="426" y="294" text-anchor="end">12 customers ago: forgotten</text></svg>`;
}

// You play.

function begin() {
  const { environment } = data.seeds[place];
  you = new Run(data, new Fixed(SLOW), environment);
  runs = { you, ...race(data, place) };
  running = false;
  shown = 0;
  get("run").textContent = "Watch the agents";
  get("again").hidden = true;
  tell("The street is full. The first customer is coming.");
  paint();
  draw();
  pass();
}

const tell = (text) => { get("told").innerHTML = text; };

function paint() {
  get("scene").innerHTML = drawStation(you);
  for (const id of ["slow", "fast"]) get(id).setAttribute("aria-disabled", String(!you.station.present || you.t >= LENGTH));
}

/** Let time pass while nobody is here. */
function pass() {
  clearTimeout(waiting);
  if (you.t >= LENGTH) return ready.then(finish);
  if (you.station.present) return undefined;
  waiting = setTimeout(() => { step(SLOW); }, WAIT);
  return undefined;
}

/** Return how many customers must be served until a long wait is forgotten. */
const remaining = () => WINDOW + 1 - you.station.ages[0];

/** Say why nobody comes, and for how long. */
function blame() {
  const left = remaining();
  return `One long wait among the last ${WINDOW} customers is enough to keep people away. It is forgotten when ${left} more ${left > 1 ? "have" : "has"} been served.`;
}

function step(action) {
  you.agent.action = action;
  const { served, departs, arrives, cost } = you.step();
  get("again").hidden = you.t < LENGTH;
  const sour = you.station.longest > 1;
  const words = [served ? (cost ? "Served at once, for ½." : departs ? "Served, for free." : "Still being served. This customer has to wait.") : ""];
  words.push(arrives ? (served ? "The next one pays 1." : "Somebody comes, and pays 1.") : !you.station.present && sour ? `Nobody comes. ${blame()}` : "");
  tell(words.join(" "));
  get("time").value = (1000 * Math.log(you.t)) / Math.log(data.steps);
  paint();
  draw();
  pass();
}

function serve(action) {
  if (you.station.present && you.t < LENGTH) step(action);
}

/** Say why somebody who served slowly first and fast later has earned little. */
function late() {
  const left = you.station.longest > 1 ? remaining() : 0, [services, fast] = you.sums[LENGTH];
  if (!fast || fast === services) return "";
  const why = left ? `Your long wait still counts: it takes ${left} more customer${left > 1 ? "s" : ""} to forget it.` : `${LENGTH} steps are too few to make up for a long wait.`;
  return ` ${why} In the long run fast service wins: play again, and serve fast from the start.`;
}

function finish() {
  while (runs.practical.t < LENGTH) runs.practical.step();
  const yours = you.total / LENGTH, first = runs.practical.averages[LENGTH - 1];
  const fast = (1 + 0.5 * (LENGTH - 1)) / LENGTH;
  const best = "That is fast service every time, the best in the long run.";
  const worse = `Fast service every time would have earned <b>${show(fast)}</b>: one long wait keeps people away for ${WINDOW} customers.`;
  const verdict = yours === fast ? best : worse + (yours < fast ? late() : "");
  tell(`You earned <b>${show(yours)}</b> per step. ${verdict} (The optimum in the long run is ${OPTIMUM}; here the first step costs nothing.) The paper's agent with our schedule earned <b>${show(first)}</b> in its first ${LENGTH} steps on the same luck: nobody told it the rules. Now watch it find out.`);
  if (narrow()) get("run").scrollIntoView({ block: "nearest" });
}

// The race.

const xOf = (t, frame) => frame.left + ((frame.right - frame.left) * Math.log10(t)) / Math.log10(data.steps);
const yOf = (value, frame) => frame.bottom - ((frame.bottom - frame.top) * value) / HIGHEST;
const timeOf = (share) => Math.max(1, Math.round(data.steps ** share));

function curve(run, until, frame) {
  const points = [];
  let last = 0;
  for (let k = 0; last < until; k += 1) {
    const t = Math.min(until, Math.max(last + 1, Math.round(10 ** (k / 40))));
    points.push(`${xOf(t, frame).toFixed(1)},${yOf(run.averages[t - 1], frame).toFixed(1)}`);
    last = t;
  }
  return points.join(" ");
}

/** Return the heights of names, moved so that none lies on another. */
function spread(wanted, gap) {
  const placed = [...wanted].sort((one, other) => one.y - other.y);
  placed.forEach((name, k) => { name.y = Math.max(name.y, k ? placed[k - 1].y + gap : 0); });
  return placed;
}

/** Return a name; whoever plays stops after a few steps, and is not compared over more. */
const nameOf = (name, t) => NAMES[name] + (name === "you" ? `, ${t} step${t === 1 ? "" : "s"}` : "");

function draw() {
  const width = Math.max(280, get("chart").clientWidth || 600), wide = width > 480, height = wide ? 300 : 230;
  const frame = { left: 34, right: width - (wide ? 150 : 10), top: 10, bottom: height - 38 };
  const parts = [`<svg class="chart" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${describe()}">`];
  for (const value of [0, 0.2, 0.4, 0.6]) {
    const y = yOf(value, frame);
    parts.push(`<path class="grid" d="M${frame.left} ${y} H${frame.right}"/><text class="soft" x="${frame.left - 6}" y="${y + 4}" text-anchor="end">${value}</text>`);
  }
  for (const t of [1, 10, 100, 1000, 10000]) {
    const x = xOf(t, frame);
    parts.push(`<path class="grid" d="M${x} ${frame.top} V${frame.bottom}"/><text class="soft" x="${x}" y="${frame.bottom + 16}" text-anchor="middle">${count(t)}</text>`);
  }
  parts.push(`<text class="soft" x="${(frame.left + frame.right) / 2}" y="${height - 4}" text-anchor="middle">steps; average reward so far, up to ${HIGHEST}</text>`);
  parts.push(`<clipPath id="plot"><rect x="${frame.left}" y="${frame.top}" width="${frame.right - frame.left + 4}" height="${frame.bottom - frame.top + 4}"/></clipPath><g clip-path="url(#plot)">`);
  const best = yOf(OPTIMUM, frame), labels = [{ name: "long-run optimum", y: best, of: "var(--soft)" }];
  parts.push(`<path class="line dashed" style="--of:var(--soft)" stroke-width="1.5" d="M${frame.left} ${best} H${frame.right}"/>`);
  Object.entries(runs).filter(([name, run]) => run.t && !hidden.has(name)).forEach(([name, run], k) => {
    const until = name === "you" ? run.t : Math.min(run.t, shown);
    if (!until) return;
    const y = yOf(run.averages[until - 1], frame), style = `style="--of:var(--${name})"`;
    parts.push(`<polyline class="line" ${style} stroke-width="${7 - 1.5 * k}" points="${curve(run, until, frame)}"/>`);
    if (name === "you" && shown > run.t) parts.push(`<path class="line dashed" ${style} stroke-width="2" d="M${xOf(run.t, frame)} ${y} H${xOf(shown, frame)}"/>`);
    labels.push({ name: nameOf(name, until), y: Math.max(y, frame.top), of: `var(--${name})` });
  });
  parts.push("</g>");
  const at = chosen();
  if (at > 1) parts.push(`<path class="cursor" d="M${xOf(at, frame)} ${frame.top} V${frame.bottom}"/>`);
  if (wide) for (const { name, y, of } of spread(labels, 17)) parts.push(`<path class="line" style="--of:${of}" stroke-width="4" d="M${frame.right + 6} ${y} h12"/><text x="${frame.right + 23}" y="${y + 4}">${name}</text>`);
  get("chart").innerHTML = parts.join("") + "</svg>";
  get("chart").frame = frame;
  get("dashed").hidden = wide;
  get("dashed").textContent = `Dashed: the long-run optimum${shown > you.t ? `; you after ${you.t} steps` : ""}.`;
  table(at);
}

const chosen = () => Math.max(1, Math.min(timeOf(get("time").value / 1000), Math.max(shown, you.t)));

function describe() {
  const words = Object.entries(runs).filter(([, run]) => run.t).map(([name, run]) => `${NAMES[name]} ${show(run.averages[run.t - 1])} after ${count(run.t)} steps`);
  return `Average reward so far. ${words.join("; ")}. The optimum in the long run is ${OPTIMUM}.`;
}

/** Write what each did in the hundred steps before a time. */
function table(at) {
  get("at").textContent = count(at);
  const heads = ["", "average since the start", "fast service lately", "customers per 100 steps lately"].map((text) => `<th scope="col">${text || "&#8203;"}</th>`).join("");
  const rows = Object.entries(runs).filter(([name]) => (name === "you" || shown) && !hidden.has(name)).map(([name, run]) => {
    const t = Math.min(at, run.t), [fast, customers] = run.history(t);
    const part = (value, text) => `<td><meter min="0" max="1" value="${value}" aria-label="${text}"></meter> ${text}</td>`;
    return `<tr><th scope="row"><i style="--of:var(--${name})"></i>${nameOf(name, t)}</th><td>${t ? show(run.averages[t - 1]) : "–"}</td>${part(fast, `${Math.round(100 * fast)}%`)}${part(customers, `${Math.round(100 * customers)}`)}</tr>`;
  });
  get("now").innerHTML = `<caption>Lately: in the last 100 steps.</caption><thead><tr>${heads}</tr></thead><tbody>${rows.join("")}</tbody>`;
}

function legend() {
  get("legend").innerHTML = Object.entries(NAMES).map(([name, text]) => `<button type="button" data-name="${name}" aria-pressed="${!hidden.has(name)}"><i style="--of:var(--${name})"></i>${text}</button>`).join("");
}

function moments() {
  const found = ["practical", "smooth"].flatMap((name) => runs[name].moments().filter(({ t }) => t <= shown).slice(0, 4).map((moment) => ({ ...moment, name })));
  get("moments").innerHTML = found.sort((one, other) => one.t - other.t).map(({ t, text, name }) =>
    `<li><button type="button" data-t="${t}" style="--of:var(--${name})">step ${count(t)}: ${NAMES[name]} ${text}</button></li>`).join("");
}

/** Take the steps of all agents to a time. */
function advance(until) {
  for (const name of ["slow", "smooth", "practical"]) while (runs[name].t < until) runs[name].step();
  shown = until;
}

function watch() {
  running = !running;
  get("run").textContent = running ? "Pause" : "Watch the agents";
  if (!running) return;
  if (narrow()) get("race").scrollIntoView({ block: "start" });
  if (shown >= data.steps) shown = 0;
  const from = Math.log10(Math.max(1, shown)), began = performance.now();
  let painted = -Infinity;
  const frame = (now) => {
    if (!running) return;
    const share = (from + Math.max(0, now - began) / DECADE) / Math.log10(data.steps);
    if (now - painted > (calm() ? CALM : 40) || share >= 1) {
      painted = now;
      advance(Math.min(data.steps, timeOf(share)));
      get("time").value = Math.round(1000 * Math.min(1, share));
      draw();
      moments();
    }
    if (share >= 1) { running = false; get("run").textContent = "Watch again"; } else requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

function point(event) {
  const box = get("chart").getBoundingClientRect(), { left, right } = get("chart").frame;
  if (running) return;
  get("time").value = Math.round((1000 * (event.clientX - box.left - left)) / (right - left));
  draw();
}

function theme(value) {
  document.documentElement.classList.toggle("dark", value === "dark" || (value !== "light" && matchMedia("(prefers-color-scheme: dark)").matches));
}

const stored = { get: () => { try { return localStorage.getItem("everlearn.theme"); } catch { return null; } }, set: (value) => { try { localStorage.setItem("everlearn.theme", value); } catch { /* private mode */ } } };
theme(stored.get());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme(stored.get()));
get("theme").onclick = () => { const value = document.documentElement.classList.contains("dark") ? "light" : "dark"; stored.set(value); theme(value); };
get("slow").onclick = () => serve(SLOW);
get("fast").onclick = () => serve(FAST);
get("run").onclick = () => ready.then(watch);
get("again").onclick = () => { place = (place + 1) % data.seeds.length; get("time").value = 0; get("moments").innerHTML = ""; begin(); };
get("time").oninput = draw;
get("chart").onpointermove = point;
get("legend").onclick = ({ target }) => { const name = target.closest("button")?.dataset.name; if (name) { (hidden.has(name) ? hidden.delete(name) : hidden.add(name)); legend(); draw(); } };
get("moments").onclick = ({ target }) => { const t = target.closest("button")?.dataset.t; if (t) { get("time").value = (1000 * Math.log(t)) / Math.log(data.steps); draw(); } };
addEventListener("keydown", (event) => {
  const action = { s: SLOW, f: FAST }[event.key.toLowerCase()];
  if (action !== undefined && !event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat) serve(action);
});
addEventListener("resize", () => data && draw());
if (parent !== window) new ResizeObserver(() => parent.postMessage({ height: document.body.offsetHeight }, "*")).observe(document.body);
data = JSON.parse(get("data").textContent);
legend();
begin();
const ready = load(data); // you can play while the schedules of the agents are decoded
