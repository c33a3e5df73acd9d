"""One Spark session for the whole folder."""

import warnings

import pytest

from whenabouts.spark.session import local_session


@pytest.fixture(scope="session")
def spark():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Spark says while it starts is not ours
        session = local_session("tests", cores=2)
    session.conf.set("spark.sql.session.timeZone", "America/New_York")  # not that of the machine
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
