"""Parse a submitted table and match its rows to the answers. Start reading at `read.Parser`.

`strict` and `lenient` are the two ways to parse, `fast_path` handles plain tables for both, and `answers` has what they
share: `Answers`, and the `ParsedSubmission` that all three return.
"""
