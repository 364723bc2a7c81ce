"""From a plan to trials: what is asked for, one trial's process, and many of them at once."""
