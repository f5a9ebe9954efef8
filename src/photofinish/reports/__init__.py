"""One file per question: a Result in, a Document out."""
