"""What may be wrong in a store, how it is found, and how it is mended.

checks      the records, read once; header, entries and runs: conflicts of git, names, what cannot be read; folders
            without a record or an entry; code and logs that are gone
leftovers   runs that nobody finished, their markers and folders; temporary files
examine     all checks in their order; what one finds is mended before the next one looks
"""
