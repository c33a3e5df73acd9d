"""Text to plan: the pattern language and how its names and types are bound."""
