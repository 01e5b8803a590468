"""Rows from a model, in the order in which they are made.

Blocks that any worker can draw (`drawing.py`, classes in exact shares by `even.py`), the schema's constraints (`constrained.py`),
a caller's conditions (`condition.py`, `ruled_out.py`), and files of any length (`to_files.py`).
"""
