"""Which token goes to which expert, and the permutation that sorts rows by expert."""
