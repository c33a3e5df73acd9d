"""Events come in: schema, columnar batches, coercions, bad rows."""
