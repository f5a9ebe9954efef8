"""What several frameworks share: what a contestant that trains or infers is, writing a graph as source, and layouts."""
