"""How long a call takes on TPUs that are not there, from what their compiler schedules: predictions, no timings."""
