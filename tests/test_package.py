import re
import subprocess
import sys
from pathlib import Path

import pytest

import rwkplus


@pytest.mark.parametrize("name", rwkplus.__all__)
def test_every_public_name_is_reached_from_the_package(name):
    assert getattr(rwkplus, name).__name__ in (f"rwkplus.{name}", name)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="kernel_of_truth"):
        _ = rwkplus.kernel_of_truth


def test_importing_the_package_does_not_import_torch():
    code = "import sys, rwkplus; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/design.md", "docs/paper.md"])
def test_links_between_pages_lead_somewhere(page):
    targets = re.findall(r"\]\((?!https?:|#|\[)([^)#]+)", (ROOT / page).read_text())
    assert [target for target in targets if not ((ROOT / page).parent / target).exists()] == []
