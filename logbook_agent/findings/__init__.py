"""What the record amounts to: one reading, which every command, page and issue formats. Pure; writes nothing.

standing  which entries count, and what later entries make of earlier ones
case      when two rows are repeats of one case
best      the best case of the thread, over all its runs that count
thread    what a thread says as a whole: decisions, negative results, settled claims, next actions
"""
