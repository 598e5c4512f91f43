"""Small programs, one per known way of tracing wrongly: traced, each must do on every call what it
does eagerly."""
