"""The values that config may take."""

Scalar = str | int | float | bool | None
