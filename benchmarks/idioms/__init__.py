"""ResNet-50 as a user of each framework has it without us: from its own zoo, or written as its documentation does."""
