"""Names of the choices that appear in more than one signature."""

from typing import Literal

KernelName = Literal["rwk+", "rwk-", "node-centric"]
Route = Literal["auto", "explicit", "blocks"]
Walks = Literal["open", "closed"]
UnknownLabel = Literal["new", "ignore", "error"]
Assignment = Literal["dirac", "optimal"]
Combine = Literal["sum", "last", "mean", "geometric"]
