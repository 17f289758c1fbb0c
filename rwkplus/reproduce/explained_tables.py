"""The page about our gradient miner."""

from pathlib import Path

from rwkplus.reproduce.markdown import rows_table
from rwkplus.reproduce.results import RESULTS, existing, ran, read_result

TASKS = ("task-1-1", "task-1-2", "task-2")


def explained_page(folder: Path = RESULTS) -> str | None:
    """All tasks that have been run."""
    tasks = existing(TASKS, "mining_explained", folder)
    if not tasks:
        return None
    parts = [
        "# Our gradient miner on the paper's tasks\n",
        "`explained_patterns` on databases and initializations with seeds not used for design. Accuracies are shares "
        "of single restarts in percent, strict: every label and every edge. Distances are exact edit distances; an "
        "untrained graph and copying an input graph stand beside, since Task 2's databases are copies of the target.\n",
    ]
    for task in tasks:
        record = read_result(f"mining_explained/{task}", folder)
        config = record["config"]
        settings = ", ".join(f"{key} {value}" for key, value in config["settings"].items())
        restarts = f"Seeds {config['seeds']}, {config['restarts per seed']} restarts each"
        parts += [f"## {task}\n\n{restarts}; {settings}.\n", rows_table(record["values"]["rows"]), ran(record)]
    return "\n".join(parts)
