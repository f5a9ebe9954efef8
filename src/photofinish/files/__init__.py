"""What the user brings as files, in canonical arrays: weights and pictures."""
