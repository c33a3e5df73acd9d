"""The same query on whenabouts and on its peers, in the same run."""
