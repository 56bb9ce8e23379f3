"""What would be written to bring an issue up to date: pure functions of the logbook and the issue as read.

values    the two sides: what the logbook has to say, and an issue and its comments as read
markers   the HTML comments by which our own text is known again
block     the managed block in the body of an issue
steps     the writes of a plan
draft     a plan in the making
updates   the comments that tell of entries
plan      the steps from the issue as read to what the logbook has to say
"""
