"""Tables of measured rows: varied axes as columns, a pivot, deltas, ratios and means."""
