"""Submissions that must run before there is anything to score: code that is timed, and model checkpoints."""
