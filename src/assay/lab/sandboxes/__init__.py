"""Ways to confine a command: bubblewrap (the default), Docker or Podman, and none, which marks everything unsealed."""
