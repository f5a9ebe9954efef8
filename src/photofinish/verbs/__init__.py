"""The verbs that take more than one race: each file holds those of its question and says what they came to."""
