"""The live agent over HTTP: many agents in one directory, each asked and told by whoever can send JSON."""
