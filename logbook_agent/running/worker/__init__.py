"""The worker of a run: executes one command on the machine it stands on, and needs no logbook.

work         what it is asked to do, also without its secrets, what it reports, and where it works
perform      facts before, process, output, rows, facts after
entrypoint   a worker in a process of its own, with a spool for its files; it waits for its devices
tree         its own copy of the files that were synced
"""
