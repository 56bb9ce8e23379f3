"""The logbook and its issue.

place       which repository and issue, and the way there
gather      what the logbook has to say: the one side of a plan, and the texts
header      changes of the header: the issue, links, snapshots, how the thread ended
sync        `logbook sync`
create      opening the issue
offline     the documents as files
link        `logbook link`
snapshot    `logbook snapshot`
close       `logbook close`
criteria    `logbook criteria`
"""
