"""What the record amounts to: one reading, which every command, page and issue formats. Pure; writes nothing.

read      the reading: every part is made when it is asked for, at most once
cases     the rows of runs; `case_repeats`: which of them are one case
best      the best case of the thread, over all its runs that count
thread    which entries count, what they say of one another, and of the thread as a whole: decisions, negative results
comparisons   what it has settled
"""
