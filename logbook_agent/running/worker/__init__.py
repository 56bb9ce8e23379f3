"""The worker of a run: executes one command on the machine it stands on, and needs no logbook.

work      what it is asked to do, what it reports, and where it works
perform   facts before, process, output, rows, facts after
"""
