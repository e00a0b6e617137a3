/* Algorithm 2 with the smooth schedule, by hand: the yardstick for the compiled engine.
 *
 * The same randomness contract (SFC64, one uniform a step for the environment, one for the agent where actions tie) and the
 * same order of operations as everlearn, so that its sums of rewards must come out bit for bit the same.  Tricks:
 * - the schedule is evaluated in blocks that all runs share;
 * - LANES runs are advanced side by side, so that their latencies overlap;
 * - no branch depends on a random number, except where actions tie;
 * - a row of the table, with its three outcomes, is one cache line, and so is all that is known of a state;
 * - since foo4 = 1, counts are never scaled, and nothing is kept for that.
 * Two actions, at most three outcomes a row.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#ifndef LANES
#define LANES 32
#endif
#define BLOCK 4096

typedef struct { double bound[2], reward[3]; uint32_t next[3], state[3]; } Row;
typedef struct { uint64_t a, b, c, counter; } Stream;
typedef struct { double u[2], n[2]; } Cell;
typedef struct { double tau2[BLOCK], gamma[BLOCK], beta[BLOCK], drift[BLOCK]; } Block;

static inline double draw(Stream *s) {
  uint64_t out = s->a + s->b + s->counter++;
  s->a = s->b ^ (s->b >> 11);
  s->b = s->c + (s->c << 3);
  s->c = ((s->c << 24) | (s->c >> 40)) + out;
  return (double)(int64_t)(out >> 11) * 0x1p-53;
}

static void evaluate(Block *block, int64_t first, int64_t steps) {
  for (int64_t i = 0; i < steps; i++) {
    double t = (double)(first + i), tau = 1.5 * pow(t, 0.2);
    block->tau2[i] = 2.0 * tau;
    block->gamma[i] = 1 - 1 / tau;
    block->beta[i] = 0.44 * pow(t, 0.3) * sqrt(log(2.0 * t * t));
    block->drift[i] = (tau + 1.0) / tau; /* c / tau, with c = tau + 1 */
  }
}

static void advance(const Block *block, int64_t steps, const Row *rows, int64_t states, int lanes, Cell *cells,
                    uint32_t *pair, uint32_t *state, double *total, Stream *environment, Stream *agent) {
  const double ceiling = -1.0; /* tau - c */
  for (int64_t i = 0; i < steps; i++) {
    double tau2 = block->tau2[i], gamma = block->gamma[i], beta = block->beta[i], drift = block->drift[i];
    for (int lane = 0; lane < lanes; lane++) {
      Cell *mine = cells + lane * states, *cell = mine + state[lane];
      int a = cell->u[1] > cell->u[0];
      if (__builtin_expect(cell->u[0] == cell->u[1], 0)) a = (int)(draw(agent + lane) * 2);
      double x = draw(environment + lane);
      const Row *row = rows + 2 * (int64_t)pair[lane] + a;
      int k = (x >= row->bound[0]) + (x >= row->bound[1]);
      const Cell *after = mine + row->state[k];
      double best = after->u[1] > after->u[0] ? after->u[1] : after->u[0];
      double n = cell->n[a] + 1.0, u = cell->u[a];
      cell->n[a] = n;
      double target = row->reward[k] - drift + gamma * best + beta / sqrt(n);
      double alpha = (1.0 + tau2) / (n + tau2);
      u = (1.0 - alpha) * u + alpha * target;
      cell->u[a] = u < ceiling ? u : ceiling;
      total[lane] += row->reward[k];
      pair[lane] = row->next[k];
      state[lane] = row->state[k];
    }
  }
}

/* Advance `runs` runs over `steps` steps; streams and totals are one a run.  Returns 0, or 1 where there is no memory. */
int run(const Row *rows, int64_t states, uint32_t start_pair, uint32_t start_state, int64_t runs, int64_t steps,
        Stream *environment, Stream *agent, double *total) {
  Cell *cells = aligned_alloc(64, sizeof(Cell) * runs * states + 64);
  uint32_t *pair = malloc(runs * sizeof *pair), *state = malloc(runs * sizeof *state);
  Block *block = malloc(sizeof *block);
  if (!cells || !pair || !state || !block) return 1;
  for (int64_t i = 0; i < runs * states; i++) cells[i] = (Cell){{0, 0}, {0, 0}};
  for (int64_t i = 0; i < runs; i++) pair[i] = start_pair, state[i] = start_state;
  for (int64_t first = 1; first <= steps; first += BLOCK) {
    int64_t length = steps - first + 1 < BLOCK ? steps - first + 1 : BLOCK;
    evaluate(block, first, length);
    for (int64_t begin = 0; begin < runs; begin += LANES) {
      int lanes = runs - begin < LANES ? (int)(runs - begin) : LANES;
      Cell *mine = cells + begin * states;
      if (lanes == LANES) /* a constant, for the compiler to unroll by */
        advance(block, length, rows, states, LANES, mine, pair + begin, state + begin, total + begin,
                environment + begin, agent + begin);
      else
        advance(block, length, rows, states, lanes, mine, pair + begin, state + begin, total + begin,
                environment + begin, agent + begin);
    }
  }
  free(cells), free(pair), free(state), free(block);
  return 0;
}

/* The algorithm line by line, one run: every value is lifted and every count scaled at every step. */
int literal(const Row *rows, int64_t states, uint32_t pair, uint32_t s, int64_t steps, Stream *environment, Stream *agent,
            double *total) {
  Cell *cells = aligned_alloc(64, sizeof(Cell) * states + 64);
  if (!cells) return 1;
  for (int64_t i = 0; i < states; i++) cells[i] = (Cell){{1, 1}, {0, 0}};
  for (int64_t t = 1; t <= steps; t++) {
    double tau = 1.5 * pow(t, 0.2), gamma = 1 - 1 / tau, shift = 1.5 * (pow(t, 0.2) - pow(t - 1, 0.2)), scale = 1;
    double beta = 0.44 * pow(t, 0.3) * sqrt(log(2.0 * t * t));
    for (int64_t i = 0; i < states; i++)
      for (int a = 0; a < 2; a++) cells[i].u[a] += shift, cells[i].n[a] *= scale;
    Cell *cell = cells + s;
    int a = cell->u[1] > cell->u[0];
    if (cell->u[0] == cell->u[1]) a = (int)(draw(agent) * 2);
    double x = draw(environment);
    const Row *row = rows + 2 * (int64_t)pair + a;
    int k = (x >= row->bound[0]) + (x >= row->bound[1]);
    const Cell *after = cells + row->state[k];
    double n = cell->n[a] + 1, best = after->u[1] > after->u[0] ? after->u[1] : after->u[0];
    cell->n[a] = n;
    double value = cell->u[a];
    value += (1 + 2 * tau) / (n + 2 * tau) * (row->reward[k] + gamma * best - value + beta / sqrt(n));
    cell->u[a] = value < tau ? value : tau;
    *total += row->reward[k];
    pair = row->next[k];
    s = row->state[k];
  }
  free(cells);
  return 0;
}
