from rwkplus.cli.commands.mine import Finding, find_known
from rwkplus.datasets import planted_groups
from rwkplus.mining import Pattern


def test_known_groups_are_found_in_the_smallest_pattern_that_has_them():
    nitro = Pattern(("N", "O", "O"), ((0, 1, "="), (0, 2, "-")), "blocks", 1.0, 1, 1, (), 1.0, 1.0, 1.0)
    larger = Pattern(
        ("C", "N", "O", "O"), ((0, 1, "-"), (1, 2, "="), (1, 3, "-")), "blocks", 1.0, 1, 1, (), 1.0, 1.0, 1.0
    )
    groups = planted_groups()
    assert find_known([larger, nitro], groups)["nitro"] == Finding(1, 0)
    assert find_known([larger], groups)["nitro"] == Finding(0, 1)
    assert find_known([larger], groups)["carboxyl"] is None
