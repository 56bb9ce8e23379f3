"""Several cases as one question: timed in turn, and how much faster one is than another."""
