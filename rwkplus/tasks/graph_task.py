"""The LightningModule of all graph-level tasks; what differs between them is the target."""

from collections.abc import Sequence
from typing import Any

import torch
from lightning.pytorch import LightningModule
from torch import Tensor, nn
from torch_geometric.data import Batch

from rwkplus.errors import ParameterError
from rwkplus.tasks.metrics import metric_for
from rwkplus.tasks.processes import cat_over_processes, sum_over_processes
from rwkplus.tasks.settings import Settings
from rwkplus.tasks.targets import Target
from rwkplus.tensors import rank_and_world

Judged = tuple[Tensor, Tensor]  # outputs (B, C) and encoded labels


class GraphTask(LightningModule):
    """Train a network on graphs: classification, regression, counting, or several questions with gaps.

    :func:`rwkplus.tasks.train` runs it in a lean loop on Lightning Fabric; any ``lightning.Trainer`` does as well, and
    then finds ``train_loss``, ``val_loss`` and the chosen metric as ``val_score`` in its log.

    Args:
        model: Network with ``forward(batch) -> (B, target.width)``.
        target: What its outputs mean.
        settings: Learning rate and metric.
    """

    def __init__(self, model: nn.Module, target: Target, settings: Settings) -> None:
        super().__init__()
        self.model = model
        self.target = target
        self.settings = settings
        self.metric = metric_for(target, settings.metric)
        self._judged: list[Judged] = []

    def forward(self, batch: Batch) -> Tensor:
        """Outputs ``(B, C)``."""
        outputs: Tensor = self.model(batch)
        expected = (batch.num_graphs, self.target.width)
        if outputs.shape != expected:
            raise ParameterError(
                f"{type(self.model).__name__} gives outputs {tuple(outputs.shape)} where {expected} are expected: one "
                "row for every graph. Is it made for nodes?"
            )
        return outputs

    def training_step(self, batch: Batch, batch_idx: int = 0) -> Tensor:
        """Mean loss over the known labels of the batch, of all processes together."""
        total, count = self.target.loss(self(batch), batch.y)
        world = rank_and_world()[1]
        if world > 1:  # DDP averages gradients: weigh by what each process has, or uneven batches would count twice
            total, count = total * world, sum_over_processes(count)
        return _mean(total, count)

    def validation_step(self, batch: Batch, batch_idx: int = 0) -> Judged:  # type: ignore[override]
        """Outputs and labels; scores of rankings need those of all graphs."""
        return self(batch), batch.y

    def validation_scores(self, judged: Sequence[Judged]) -> dict[str, float]:
        """Loss and chosen metric over the batches of all processes."""
        outputs, y = (cat_over_processes(list(parts)) for parts in zip(*judged, strict=True))
        total, count = self.target.loss(outputs, y)
        return {"val_loss": float(total / count), "val_score": self.metric(self.target, outputs, y)}

    def configure_optimizers(self) -> Any:  # noqa: ANN401
        """Adam, and the learning rate of each epoch."""
        optimizer = self.optimizer()
        factor = lambda epoch: self.settings.lr_at(epoch) / self.settings.lr  # noqa: E731
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.LambdaLR(optimizer, factor)}

    def optimizer(self) -> torch.optim.Optimizer:
        """Adam with decoupled weight decay."""
        settings = self.settings
        return torch.optim.AdamW(self.parameters(), lr=settings.lr, weight_decay=settings.weight_decay, fused=True)

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:  # noqa: ANN401
        """Log the loss; only a Trainer calls this and the next two."""
        self.log("train_loss", outputs["loss"], on_step=False, on_epoch=True, batch_size=len(batch.y))

    def on_validation_batch_end(self, outputs: Any, batch: Batch, batch_idx: int, dataloader_idx: int = 0) -> None:  # noqa: ANN401
        """Keep what was judged."""
        self._judged.append(outputs)

    def on_validation_epoch_end(self) -> None:
        """Log the scores."""
        self.log_dict(self.validation_scores(self._judged))
        self._judged.clear()


def _mean(total: Tensor, count: Tensor) -> Tensor:
    """Mean over the labels; of none it is zero."""
    return total / count.clamp(min=torch.finfo(total.dtype).tiny)
