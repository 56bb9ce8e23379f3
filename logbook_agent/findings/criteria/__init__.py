"""Stop criteria that can be checked: what a predicate may say, and whether measured cases fulfil it."""
