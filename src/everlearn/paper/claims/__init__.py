"""The claims of the paper, each computed and given a verdict."""
