"""What the files of a run are called."""

# Those of its spool, which `spool` describes.
LOCK, WORK, BEGAN = "worker.lock", "work.json", "began.json"
HEARTBEAT, FINAL, ERRORS = "heartbeat.json", "final.json", "worker.err"
SENT, SEEN, CLOSED, ROOM = "sent.json", "seen.json", "closed", "room"
# The spool itself, what the command writes its results to, and the copy of a benchmark tool's file.
WORKING, RESULT, READ = "work", "result.json", "read"

# What the log of a run is called, beside its record and in its spool; and there, what patterns find being left out,
# until it is moved beside the record.
LOG, SAFE_LOG = "output.log", "safe.log"
# The points of its curves, there, too: of a run that goes on or was cut off, then one of the others. Large ones
# stay out of git.
CURVES, CURVES_LARGE = "curves.points", "curves.large.points"
# The folder of its code's diff and untracked files: in the logbook, and in a spool.
CODE = "code"
# The folder of the files that the command left: beside the record of its run, and in its spool; and there, what
# patterns find being left out, until it is moved beside the record.
ARTIFACTS, SAFE_ARTIFACTS = "artifacts", "safe"
# A larger file is recorded alone.
MOST_KEPT_BYTES = 10_000_000
