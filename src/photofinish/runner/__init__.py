"""Launches, rounds, time-outs, kills: the parent of every worker process."""
