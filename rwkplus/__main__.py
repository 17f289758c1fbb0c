"""``python -m rwkplus`` is the command ``rwkplus``."""

from rwkplus.cli.main import run

run()
