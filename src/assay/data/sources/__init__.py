"""Where raw data comes from: Kaggle, the package index, npm, plain HTTP. Each is imported only when a task needs it."""
