"""The measured rows in other forms: files, data frames, the stores of experiment trackers, cells of a notebook.

Everything goes through `columns.py` (a table) or `row_data.py` (plain data of a row). Nothing here reaches a network.
"""
