"""Files that estimators wrote, changed by hand or opened elsewhere."""

import json
import subprocess
import sys

from safetensors import safe_open
from safetensors.numpy import save_file


def changed(path, change):
    """Write a file again after ``change(record, arrays)`` of its header and its arrays."""
    with safe_open(path, "numpy") as file:
        record = json.loads(file.metadata()["rwkplus"])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    change(record, arrays)
    save_file(arrays, path, metadata={"rwkplus": json.dumps(record)})
    return path


def in_a_fresh_process(path, call):
    """What ``call``, an expression with ``loaded``, yields where nothing but the file is known; as JSON."""
    code = f"import json; from rwkplus.saving import load; loaded = load({str(path)!r}); print(json.dumps({call}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)
