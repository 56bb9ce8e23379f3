"""What an issue says and how to bring it up to date: pure functions of the logbook and the issue as read.

address   which issue of which repository on which host, and the addresses of things there
values    an issue and its comments, as read
markers   the HTML comments by which our own text is known again
block     the managed block in the body of an issue
neutral   text in which no name, reference or closing keyword is live
fit       text within a number of bytes, cut where nothing breaks
plan      the steps from the issue as read to what the logbook has to say
"""
