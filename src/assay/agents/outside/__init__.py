"""Agents that are not ours: they live in the lab and reach models through a metered endpoint of the harness."""
