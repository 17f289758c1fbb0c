import subprocess
import sys

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
