"""The worker of a run: executes one command on the machine it stands on, and needs no logbook.

work         what it is asked to do, also without its secrets, what it reports, and where it works
perform      facts before, process, output, facts after; rows are read when the run is taken in
entrypoint   a worker in a process of its own, with a spool for its files; it waits for its devices
tree         its own copy of the files that were synced
left_files   copies of the files that the command left
written      the file of a benchmark tool, and a copy of it
"""
