"""Judge submissions by running them in a lab: `speed` times code, `checkpoint` runs model weights."""
