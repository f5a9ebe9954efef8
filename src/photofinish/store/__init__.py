"""One embedded database; raw samples only, every summary computed when read."""
