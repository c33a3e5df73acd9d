"""One kernel or one step of the engine at a time."""
