"""The measured rows in other forms: files, data frames, the stores of experiment trackers, cells of a notebook.

Everything goes through the table of `columns.py`. Nothing here reaches a network.
"""
