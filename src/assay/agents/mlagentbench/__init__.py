"""The agents of MLAgentBench: `act`, `react` and `research`, which act through the paper's published actions."""
