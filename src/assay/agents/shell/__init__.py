"""An agent that works at a shell: the model writes bash commands and reads their output."""
