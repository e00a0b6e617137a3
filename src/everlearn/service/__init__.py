"""Durable agents over HTTP: many agents in one directory, for any program that can send JSON."""
