"""One command a file, called like the command; ``rwkplus.cli.main`` lists them in the order of ``--help``."""
