"""Text and nothing else: Markdown, what may be said aloud (redaction), what fits a comment, how words are typed."""
