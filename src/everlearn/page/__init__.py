"""The page in the browser where you watch an agent learn: ``everlearn play``."""
