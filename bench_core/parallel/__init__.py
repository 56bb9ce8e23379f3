"""A block over several devices: how it is spread, what each form sends, and where its arrays lie."""
