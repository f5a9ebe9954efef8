"""What the processes of a strategy have in common, whatever the framework."""
