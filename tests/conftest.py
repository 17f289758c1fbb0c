import torch
from hypothesis import HealthCheck, settings

# Derandomized: the same examples on every machine and in every run. Fixtures used beside @given only patch.
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("ci")
torch.set_num_threads(1)
