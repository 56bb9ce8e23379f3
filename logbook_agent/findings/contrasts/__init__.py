"""What numbers allow one to say: verdicts, winners, confidence."""
