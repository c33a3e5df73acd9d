"""The pattern as typed, immutable, printable data, and the rules that rewrite it."""
