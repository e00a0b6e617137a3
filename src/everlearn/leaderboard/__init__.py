"""The leaderboard: every agent on every task, with settings that were found on some tasks and judged on others."""
