"""The slow, obvious twin of each kernel, which defines the meaning.

`matching.match` is docs/semantics.md for exact times: read its first lines to see where each rule is found. `results`
computes what RETURN asks for from the matches. `worlds.match_uncertain` is the same over uncertain time: the exact
answer in every possible world, weighted.
"""
