"""Run agents on tasks: the reference engine, the compiled engine, and the choice between them."""
