"""The way to an issue tracker: the remote itself, its token, its pace, and the loop that applies a plan."""
