"""The page about our gradient miner."""

from pathlib import Path

from rwkplus.reproduce.markdown import rows_table
from rwkplus.reproduce.results import existing, ran
from rwkplus.result_files import RESULTS, read_result

TITLES = {
    "task-1-1": "Task 1-1: a bipartite core",
    "task-1-2": "Task 1-2: two triangles in chains",
    "task-2": "Task 2: copies of one graph, by edit distance",
}


def explained_page(folder: Path = RESULTS) -> str | None:
    """All tasks that have been run."""
    tasks = existing(TITLES, "mining_explained", folder)
    if not tasks:
        return None
    parts = [
        "# Our gradient miner on the paper's tasks\n",
        "`explained_patterns` on databases and initializations with seeds not used for design.\n",
        "- Accuracies are shares of single restarts in percent, strict: every label and every edge.\n"
        "- *Best of 10* counts, of every ten restarts, only the one that explains most.\n"
        "- *Explained* is the share of the walk features that the patterns explain, of the worst restart.\n"
        "- Distances are exact edit distances; an untrained graph and copying an input graph stand beside, since Task "
        "2's databases are copies of the target.\n",
    ]
    records = [read_result(f"mining_explained/{task}", folder) for task in tasks]
    for task, record in zip(tasks, records, strict=True):
        config = record["config"]
        settings = ", ".join(f"{key} {value}" for key, value in config["settings"].items())
        seeds = f"{'Seed' if len(config['seeds']) == 1 else 'Seeds'} {', '.join(map(str, config['seeds']))}"
        restarts = f"{seeds}; {config['restarts per seed']} restarts each; {settings}.\n"
        parts += [f"## {TITLES[task]}\n", restarts, rows_table(record["values"]["rows"])]
    return "\n".join([*parts, ran(*records)])
