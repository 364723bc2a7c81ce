"""Other people's tools: how Assay's tasks and records are used from them."""
