"""The description of the package on an index: the README without what leads nowhere there."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

README = Path(__file__).parents[1] / "README.md"
PICTURE = re.compile(r"^!\[[^]]*\]\((?!https:)[^)]*\)\n+(\*[^*]+\*\n+)?", re.MULTILINE)
"""A picture of the repository, with its caption."""
LINK = re.compile(r"\[([^]]+)\]\((?!https:)[^)]*\)")


class LongDescription(MetadataHookInterface):
    """What ``pyproject.toml`` calls a dynamic readme."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add it to the metadata."""
        text = LINK.sub(r"\1", PICTURE.sub("", README.read_text(encoding="utf-8")))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
