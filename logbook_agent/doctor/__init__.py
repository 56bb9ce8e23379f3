"""What may be wrong in a store, how it is found, and how it is mended. One file per kind of check.

finding        one thing that is wrong, and the examination that finds it
examine        all checks in their order; each is mended before the next one looks
merges         conflicts that git stopped at
entry_files    names of entry files, numbers that two entries have, IDs without an entry
damaged        every record below a logbook; those that cannot be read
runs           folders of runs: of no entry, without a record; files of code that are gone
unfinished     runs that nobody finished, and their markers; `--stop`
leftovers      temporary files, logs that are not here; `--prune`
view_check     the view
"""
