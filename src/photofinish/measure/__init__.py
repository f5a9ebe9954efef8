"""The engine inside a worker: it knows a callable, a `wait` and a clock, and no framework."""
