"""An environment seen through an aleatoric state, with a reward and a name: what an agent can be set to do."""
