"""Matches: the record, collecting, counting, revisions."""
