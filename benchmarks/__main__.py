"""Run benchmarks: ``python -m benchmarks [NAME ...]``. Each runs in a process of its own, so that memory is its own."""

import subprocess
import sys

NAMES = (
    "gram_mutag",
    "gram_nci1",
    "features_nci1",
    "features_zinc",
    "blocks_growth",
    "blocks_large",
    "mining_restarts",
    "mining_gspan",
    "mining_scale",
    "mining_before",
    "mining_growth",
    "mining_molecules",
    "egonets",
    "kernel_conv",
    "kernel_layer",
    "rwk_plus_conv",
    "dropout",
    "edge_colors",
    "rwk_plus_conv_large",
    "web_scale",
    "detection",
    "foundation",
)


def main():
    """Run the named benchmarks, or all of them."""
    commands = {name: [sys.executable, "-m", f"benchmarks.{name}"] for name in sys.argv[1:] or NAMES}
    failed = [name for name, command in commands.items() if subprocess.run(command, check=False).returncode]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
