"""Environments: what the world does, with one file per environment."""
