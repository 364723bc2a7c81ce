"""Where trials run: processes on this machine, Slurm, or Ray."""
