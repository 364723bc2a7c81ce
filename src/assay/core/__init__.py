"""The basics that all other packages use: errors, atomic writes and locks, the home folder, progress, quantities, text.

Start reading at `errors.py`. Nothing here imports another package of Assay. Building a lab environment must work before
anything is installed, so it uses only the modules that need nothing beyond the standard library.
"""
