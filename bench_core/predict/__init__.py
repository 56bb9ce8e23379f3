"""How long a call takes on TPUs that are not there, from what their compiler schedules. A prediction, never a timing."""
