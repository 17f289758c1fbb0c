from tests.cli.program import rwkplus  # noqa: F401
