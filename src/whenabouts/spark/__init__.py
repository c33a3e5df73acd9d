"""Everything that needs pyspark: batch, streaming, state, SQL, sources and sinks."""
