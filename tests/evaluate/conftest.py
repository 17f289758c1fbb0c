import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True)
def _one_thread():
    """Tiny models: threads would only wait for each other."""
    with threadpool_limits(1):
        yield
