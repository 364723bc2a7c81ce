"""Who acts: agents and what they are given."""
