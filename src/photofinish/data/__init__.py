"""Synthetic batches and data sets."""
