"""What the agent does: one file an agent, the schedules, and the agent that is driven step by step."""
