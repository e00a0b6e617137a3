"""Figures of results and experiments."""
