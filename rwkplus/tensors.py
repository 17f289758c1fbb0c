"""Imported first by every room that needs PyTorch, so that its absence is told once and well."""

from rwkplus.errors import MissingExtraError

try:
    import torch  # noqa: F401
    import torch_geometric  # noqa: F401
except ImportError as error:
    raise MissingExtraError("this part of rwkplus needs PyTorch and PyG: pip install 'rwkplus[nn]'.") from error
