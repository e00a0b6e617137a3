"""Every agent on every task, each with the same chance: which tasks settings are chosen on, and which judge them."""
