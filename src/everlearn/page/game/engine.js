// The paper's service station and its agents in JavaScript, equal to the engine in Python to the last bit.
//
// What differs between languages is embedded in DATA by Python: values of schedules (they need pow and log), arrival
// probabilities (exp), and the seeds of the random streams.  Everything else is the same arithmetic in the same order.
"use strict";

const FAST = 0, SLOW = 1, VACANT = -1, CAP = 5, WINDOW = 12, CEILING = -1;
const MASK = (1n << 64n) - 1n;

/** NumPy's SFC64, from the four words of its state. */
class Stream {
  constructor(words) {
    [this.a, this.b, this.c, this.counter] = words.map(BigInt);
  }
  uniform() {
    const drawn = (this.a + this.b + this.counter) & MASK;
    const rotated = ((this.c << 24n) | (this.c >> 40n)) & MASK;
    this.a = this.b ^ (this.b >> 11n);
    this.b = (this.c + (this.c << 3n)) & MASK;
    this.c = (rotated + drawn) & MASK;
    this.counter = (this.counter + 1n) & MASK;
    return Number(drawn >> 11n) * 2 ** -53;
  }
}

/** The station: the longest of the last twelve services decides how likely the next customer is. */
class Station {
  constructor(data) {
    this.data = data;
    this.clock = VACANT;
    this.ages = new Array(CAP - 1).fill(0); // how many customers ago a service of at least 2, 3, ... steps was completed
    this.services = []; // the lengths of the last services, the latest first; for the picture alone
  }
  get present() {
    return this.clock !== VACANT;
  }
  get longest() {
    return 1 + this.ages.filter((age) => age > 0).length;
  }
  get arrival() {
    return this.data.arrival[this.longest - 1];
  }
  /** Take a step; the uniform number decides what happens.  Return what was seen and earned. */
  step(action, draw) {
    const rows = this.data.rows[this.longest - 1][this.present ? action : 2];
    const { arrives, departs } = rows.find((row) => draw < row.bound);
    const cost = this.present && action === FAST ? 0.5 : 0;
    if (departs) this.depart();
    if (arrives) this.clock = 0;
    else if (departs) this.clock = VACANT;
    else if (this.present) this.clock = Math.min(this.clock + 1, CAP - 1);
    return { arrives, departs, cost, reward: (arrives ? 1 : 0) - cost };
  }
  depart() {
    const service = Math.min(this.clock + 1, CAP);
    this.ages = this.ages.map((age, j) => (service >= j + 2 ? 1 : age === 0 || age === WINDOW ? 0 : age + 1));
    this.services = [service, ...this.services].slice(0, WINDOW);
  }
}

/** Algorithm 2 in offset form, as in agents/growing_horizon.py, for two states and two actions. */
class GrowingHorizon {
  constructor(schedule, words) {
    this.schedule = schedule;
    this.stream = new Stream(words);
    const table = () => [[0, 0], [0, 0]];
    [this.value, this.count, this.mean, this.variance] = [table(), table(), table(), table()];
    this.held = [0, 0];
    this.left = [0, 0];
  }
  act(s) {
    if (this.left[s] >= 1) return this.held[s];
    const [fast, slow] = this.value[s];
    if (fast === slow) return Math.trunc(this.stream.uniform() * 2);
    return fast > slow ? FAST : SLOW;
  }
  learn(t, s, a, reward, next) {
    const { horizon, optimism, weight, unit, persistence, most } = this.schedule;
    const tau = horizon[t - 1];
    const learned = unit ? (reward + 0.5) / 1.5 : reward;
    const n = (this.count[s][a] += 1);
    const alpha = (1 + weight * tau) / (n + weight * tau);
    let target = learned - (tau - CEILING) / tau + (1 - 1 / tau) * Math.max(...this.value[next]);
    target += this.bonus(s, a, n, alpha, target, tau, optimism[t - 1]);
    this.value[s][a] = Math.min((1 - alpha) * this.value[s][a] + alpha * target, CEILING);
    if (!persistence) return;
    if (this.left[s] >= 1 && this.held[s] === a) this.left[s] -= 1;
    else [this.held[s], this.left[s]] = [a, Math.min(persistence * n, most)];
  }
  bonus(s, a, n, alpha, target, tau, beta) {
    const { doubt, rarity } = this.schedule;
    if (doubt === null) return beta / Math.sqrt(n);
    const error = target - this.mean[s][a];
    this.mean[s][a] += alpha * error;
    this.variance[s][a] = (1 - alpha) * (this.variance[s][a] + alpha * error * error);
    return beta * ((doubt + Math.sqrt(this.variance[s][a])) / Math.sqrt(n) + (rarity * tau) / n);
  }
}

/** A policy that never changes; the human player is one whose action is set from outside. */
class Fixed {
  constructor(action) {
    this.action = action;
  }
  act() {
    return this.action;
  }
  learn() {}
}

/** An agent at a station.  Runs with the same seed have the same luck: one draw per step for the environment. */
class Run {
  constructor(data, agent, words) {
    this.agent = agent;
    this.station = new Station(data);
    this.luck = new Stream(words);
    this.t = 0;
    this.total = 0;
    this.averages = [];
    this.sums = [[0, 0, 0]]; // after each step: steps of service, those that were fast, and customers
  }
  step() {
    const s = this.station.present ? 1 : 0;
    const action = this.agent.act(s);
    const seen = this.station.step(action, this.luck.uniform());
    this.t += 1;
    this.total += seen.reward;
    this.averages.push(this.total / this.t);
    this.agent.learn(this.t, s, action, seen.reward, this.station.present ? 1 : 0);
    const [services, fast, customers] = this.sums[this.t - 1];
    this.sums.push([services + s, fast + (s && action === FAST ? 1 : 0), customers + (seen.arrives ? 1 : 0)]);
    this.latest = { ...seen, action, served: s === 1 };
    return this.latest;
  }
}

/** Return the share of fast service, customers per step, and steps of service in the steps before a time. */
Run.prototype.history = function (t, steps = 100) {
  const first = Math.max(0, t - steps);
  const [services, fast, customers] = this.sums[t].map((sum, k) => sum - this.sums[first][k]);
  return [services ? fast / services : 0, customers / (t - first || 1), services];
};

/** Return the times at which an agent changed its mind, and what it found. */
Run.prototype.moments = function () {
  const found = [];
  let isFast = false;
  for (let t = 200; t <= this.t; t += 1) {
    const [share, , services] = this.history(t, 200);
    if (services < 20 || (isFast ? share > 0.3 : share < 0.9)) continue;
    isFast = !isFast;
    found.push({ t, text: isFast ? "finds that fast service pays" : "tries slow service again" });
  }
  return found;
};

/** Decode numbers: compressed bytes of variable length, third differences of the bits of doubles. */
async function decode(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const coded = new Uint8Array(await new Response(inflated).arrayBuffer());
  const bits = [];
  const sums = [0n, 0n, 0n];
  for (let k = 0; k < coded.length; k += 1) {
    let [value, shift] = [BigInt(coded[k] & 127), 7n];
    for (; coded[k] > 127; shift += 7n) value |= BigInt(coded[(k += 1)] & 127) << shift;
    let sum = (value >> 1n) ^ -(value & 1n);
    for (let place = 2; place >= 0; place -= 1) sum = sums[place] = BigInt.asIntN(64, sums[place] + sum);
    bits.push(sum);
  }
  return new Float64Array(BigInt64Array.from(bits).buffer);
}

/** Return the data with the values of its schedules decoded. */
async function load(data) {
  for (const schedule of Object.values(data.schedules)) {
    schedule.horizon = await decode(schedule.horizon);
    schedule.optimism = await decode(schedule.optimism);
  }
  return data;
}

/** Return the runs of a race on the luck of a seed, by name. */
function race(data, place) {
  const { environment, agent } = data.seeds[place];
  const learner = (name) => new Run(data, new GrowingHorizon(data.schedules[name], agent), environment);
  return { practical: learner("practical"), smooth: learner("smooth"), slow: new Run(data, new Fixed(SLOW), environment) };
}

globalThis.everlearn = { FAST, SLOW, WINDOW, Stream, Station, Fixed, Run, load, race };
