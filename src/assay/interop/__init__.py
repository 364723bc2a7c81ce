"""Adapters: tasks, records and results of Assay for other tools, and theirs for Assay.

`importers` and `exporters` read and write results, `harbor` and `inspect` run tasks of one in the other. They import
packages of others, so nothing here is imported before it is used.
"""
