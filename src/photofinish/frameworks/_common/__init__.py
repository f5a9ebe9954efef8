"""What several frameworks' parts share: writing a graph as source, and layouts with the channels last."""
