"""Apache Flink as a peer."""
