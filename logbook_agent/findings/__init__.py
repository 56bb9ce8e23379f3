"""What the record amounts to: one reading, which every command, page and issue formats. Pure; writes nothing.

read      the reading: every part is made when it is asked for, at most once
standing  which entries count, and what later entries make of earlier ones
cases     the rows of runs; `case`: when two of them are repeats of one case
best      the best case of the thread, over all its runs that count
thread    what a thread says as a whole: decisions, negative results, next actions; what entries say of one another,
          from their files alone
claims    what it has settled
"""
