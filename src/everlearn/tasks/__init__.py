"""Tasks: an environment seen through an aleatoric state, with a reward and a name."""
