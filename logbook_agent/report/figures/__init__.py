"""The data behind each plot, as values that say all that a drawing shows. Pure: who draws them is elsewhere."""
