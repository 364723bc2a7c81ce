"""Run the starter as it is."""

import runpy

runpy.run_path("train.py")
