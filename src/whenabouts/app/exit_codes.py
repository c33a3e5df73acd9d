"""Exit codes of the command line, as docs/command-line.md lists them."""

DONE, FAILED, WRONG_QUESTION, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141
