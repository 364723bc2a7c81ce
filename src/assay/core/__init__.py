"""What every other package rests on: errors, atomic files and locks, the home folder, progress, quantities, text.

Start reading at `errors.py`. Nothing here imports another package of Assay, and building a lab environment, which must
work before anything is installed, uses only those modules that need nothing but the standard library.
"""
