"""What the agent does: one file per agent, the schedules, and the agent that is driven step by step.

Each agent's module names its source and what differs from it.  In every agent from the literature:

- The aleatoric state is treated as if it were a Markov state.  If it is not, the theorems of the source say nothing.
- Rewards are scaled to [0, 1] by the declared range, unless the task is raw.
- Ties that the source leaves open are broken uniformly.
"""
