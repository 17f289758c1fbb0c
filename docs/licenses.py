"""Writes licenses.md, the licenses of all dependencies, from what is installed: ``python docs/licenses.py``."""

import re
import tomllib
from collections import defaultdict
from importlib.metadata import metadata
from pathlib import Path

PAGE, PROJECT = Path(__file__).parent / "licenses.md", Path(__file__).parents[1] / "pyproject.toml"
SPDX = {
    "3-clause bsd": "BSD-3-Clause", "apache 2.0": "Apache-2.0", "apache software license": "Apache-2.0",
    "apache-2.0": "Apache-2.0",
    "bsd": "BSD-3-Clause", "bsd license": "BSD-3-Clause", "bsd-3-clause": "BSD-3-Clause",
    "gnu general public license (gpl)": "GPL-2.0-or-later", "mit": "MIT", "mit license": "MIT",
    "new bsd license": "BSD-3-Clause", "python software foundation license": "PSF-2.0",
}  # fmt: skip
"""What packages without an SPDX expression say, in lower case."""
TEXT = """# Licenses of dependencies

rwkplus itself is licensed under MIT. Packages of the first table are installed with it, those of the second by extras.
`python docs/licenses.py` writes this page, as SPDX expressions, from the metadata of installed packages; a test holds
it to `pyproject.toml`.
"""


def needed() -> dict[str, list[str]]:
    """Every direct dependency with the extras that ask for it; none for those of the package itself."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    found: dict[str, list[str]] = defaultdict(list)
    for extra, requirements in project["optional-dependencies"].items():
        for requirement in requirements:
            found[_name(requirement)].append(extra)
    del found["rwkplus"]
    found |= {_name(requirement): [] for requirement in project["dependencies"]}
    return dict(sorted(found.items()))


def _name(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower()


def license_of(name: str) -> str:
    """SPDX expression of an installed package: its own, or read off what it says in older ways."""
    about = metadata(name)
    if expression := about.get("License-Expression"):
        return str(expression)
    said = [line.rpartition(" :: ")[2] for line in about.get_all("Classifier") or [] if "License ::" in line]
    said += re.split(r"\n|  +", (about.get("License") or "").strip())[:1]
    known = [SPDX[text.lower()] for text in said if text.lower() in SPDX]
    if not known:
        raise LookupError(f"{name} says of its license only {said}: name it in SPDX.")
    return known[0]


def page() -> str:
    """The page as Markdown."""
    rows: dict[bool, list[str]] = {False: [], True: []}
    for name, extras in needed().items():
        rows[bool(extras)].append(f"| {name} | {license_of(name)} |" + f" {', '.join(extras)} |" * bool(extras))
    always = ["| package | license |", "| --- | --- |", *rows[False]]
    extra = ["| package | license | extras |", "| --- | --- | --- |", *rows[True]]
    return "\n".join([TEXT, *always, "", *extra, ""])


if __name__ == "__main__":
    PAGE.write_text(page())
