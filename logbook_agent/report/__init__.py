"""Records to Markdown: what a section says (pure), and the Jinja templates that lay it out."""
