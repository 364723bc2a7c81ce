"""Is a task sound? What `assay check` and `assay panel` do: rules hold, nothing leaks, references are measured."""
