"""Sources of raw data: Kaggle, the package index, npm, plain HTTP. Each is imported only when a task needs it."""
