"""The worker of a run: executes one command on the machine it stands on, and needs no logbook.

work      what it is asked to do, what it reports, and where it works
sealing   the same without secrets, and with them again
perform   facts before, process, output, rows, facts after
process   a worker in a process of its own, with a spool for its files
nursery   many of them in turn, forked from one that is loaded
"""
