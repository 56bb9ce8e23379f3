"""The logbook and its issue.

place       which repository and issue, the way there, and which hosts a token may go to
gather      what the logbook has to say: the one side of a plan, and the texts
sync        `logbook sync`
create      opening the issue
offline     the documents as files
link        `logbook link`, and the comments that link back
snapshot    `logbook snapshot`
close       `logbook close`
"""
