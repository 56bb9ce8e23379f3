"""Running one command: started, watched, ended, and its output kept.

process   what to run, one child in a process group of its own, and how it ended
family    the processes that a command has started, a signal to all of them, and their end
signals   requests to stop the tool, caught instead of obeyed; when to send which signal to the child
program_path  where the program of a command is
execute   the loop that joins them
output    the log on disk and its readable excerpts
"""
