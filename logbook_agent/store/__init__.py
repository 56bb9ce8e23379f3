"""The logbook on disk.

What is where:

    logbook.yaml, entries/NAME.yaml   the header and the entries, which people edit, too (`records`, `book`)
    runs/NAME/RUN/                    a run: run.json, which the tool alone writes, its log and files (`book_runs`)
    code/                             diffs and untracked files of code, once for all runs that had them
    work/ in it                       what is found in a run until it is taken in (`spool`)
    open/                             a marker for each run that goes on, and detached series (`book_spools`)
    the user's cache folder           what may be deleted at any time (`cache`)
    git's common folder               reserved IDs and claims of plans, for all worktrees of a clone (`ids`, `claims`)

Who may write: everything goes through a `Folder`, which follows no link and replaces a file as a whole. Headers and
entries are changed under the lock of the logbook. A run's record is written by the process that makes the run; the end
of a run that another process made by whoever takes it in, under that lock.

A run is over when its record has an `exit`. Until then `Book.life` says which of its processes are left: the one that
makes the run holds a lock, in which the process group of the command stands.

When two clones meet, no file of one has the name of another's: whole names (`names`) are given once and never change.
Entries with equal numbers are called by their whole names from then on.
"""
