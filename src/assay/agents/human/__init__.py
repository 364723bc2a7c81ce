"""A person at a terminal inside the lab, under the same budget and in the same record as any agent."""
