"""One file per format: a Document to terminal, markdown, HTML or CSV. Knows only Document."""
