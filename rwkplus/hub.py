"""Whatever can be saved, on the Hugging Face Hub or in a folder laid out like a repository there (extra: ``hub``)."""

from pathlib import Path
from typing import Any, Self

from rwkplus.errors import MissingExtraError, ParameterError
from rwkplus.files import json_text, read_record, write_atomic
from rwkplus.saving import MODEL_FILE, Savable, load

try:
    from huggingface_hub import ModelHubMixin, constants, hf_hub_download
except ImportError as error:
    raise MissingExtraError("HubModel needs huggingface_hub.", "Install it: pip install 'rwkplus[hub]'.") from error

CARD = """---
{{ card_data }}
---

# {{ kind }}

An estimator of rwkplus: `HubModel.from_pretrained("name/of-this-repository").estimator`, with `HubModel` from
`rwkplus.hub`. `model.safetensors` holds all of it and no code; `config.json` says what it was made with.
"""


class HubModel(ModelHubMixin, library_name="rwkplus", tags=["graphs"], model_card_template=CARD):
    """A fitted estimator with ``save_pretrained``, ``push_to_hub`` and ``from_pretrained``.

    Kernels, miners, detectors and trained networks alike. A repository holds ``model.safetensors``, which
    :func:`rwkplus.load` opens as well, ``config.json`` with the kind and parameters, and a model card; no pickle.

    Args:
        estimator: What was fitted.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from rwkplus import RandomWalkKernel
        >>> with TemporaryDirectory() as folder:  # or HubModel(kernel).push_to_hub("me/kernel")
        ...     HubModel(RandomWalkKernel(steps=1).fit(["CC"])).save_pretrained(folder)
        ...     HubModel.from_pretrained(folder).estimator.transform(["CCC"])
        array([[8.]])
    """

    def __init__(self, estimator: Savable) -> None:
        if not isinstance(estimator, Savable):
            raise ParameterError(f"estimator must be one of rwkplus that can be saved, got {estimator!r}.")
        self.estimator = estimator

    def _save_pretrained(self, save_directory: Path) -> None:
        record = read_record(self.estimator.save(save_directory / MODEL_FILE))
        about = {name: record[name] for name in ("kind", "parameters", "version")}
        write_atomic(save_directory / constants.CONFIG_NAME, json_text(about))

    def generate_model_card(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        """The page of the repository; ``options`` are further variables of the template."""
        return super().generate_model_card(*arguments, kind=type(self.estimator).__name__, **options)

    @classmethod
    def _from_pretrained(cls, *, model_id: str, **options: Any) -> Self:  # type: ignore[override]  # noqa: ANN401
        if Path(model_id).is_dir():
            return cls(load(model_id))
        return cls(load(hf_hub_download(model_id, MODEL_FILE, **options)))
