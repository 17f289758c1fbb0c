"""Small files in the layouts of ZINC and OGB."""

import gzip

import numpy as np

PARTS = ("train", "valid", "test")
CARBON, OXYGEN = (5, 0, 4, 5, 3, 0, 2, 0, 0), (7, 0, 2, 5, 1, 0, 2, 0, 0)


def write_table(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(",".join(map(str, row)) + "\n" for row in rows).encode()))


def ogb_tables(num_graphs=12, num_labels=1, seed=0):
    """Chains of carbon and oxygen; the first question is whether there is oxygen, others have few answers or none."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, num_graphs)
    oxygens = [rng.integers(0, 2, size) * (i % 2) for i, size in enumerate(sizes)]
    for i in range(1, num_graphs, 2):
        oxygens[i][0] = 1
    more = [[rng.choice([0, 1, ""]) if task < 3 else "" for task in range(1, num_labels)] for _ in sizes]
    labels = [[i % 2, *answers] for i, answers in enumerate(more)]
    parts = np.split(np.arange(num_graphs), [num_graphs // 3, 2 * num_graphs // 3])
    return {
        "raw/node-feat": [OXYGEN if oxygen else CARBON for chain in oxygens for oxygen in chain],
        "raw/edge": [(i, i + 1) for size in sizes for i in range(size - 1)],
        "raw/edge-feat": [(i % 2, 0, 0) for size in sizes for i in range(size - 1)],
        "raw/num-node-list": [(size,) for size in sizes],
        "raw/num-edge-list": [(size - 1,) for size in sizes],
        "raw/graph-label": labels,
        **{f"split/scaffold/{name}": [(i,) for i in part] for name, part in zip(PARTS, parts, strict=True)},
    }


def write_ogb(folder, tables):
    for name, rows in tables.items():
        write_table(folder / f"{name}.csv.gz", rows)
    return folder


def zinc_arrays(num_graphs=6, seed=0):
    """Rings of two elements with single and double bonds; the target is their share of the second element."""
    rng = np.random.default_rng(seed)
    arrays = {}
    for part in ("train", "val", "test"):
        sizes = rng.integers(3, 7, num_graphs)
        x = [rng.integers(0, 3, size) for size in sizes]
        ring = [np.stack([np.arange(size), (np.arange(size) + 1) % size]) for size in sizes]
        arrays |= {
            f"{part}_x": np.concatenate(x).astype(np.uint8),
            f"{part}_edge_index": np.concatenate([np.concatenate([r, r[::-1]], 1) for r in ring], 1).astype(np.uint8),
            f"{part}_edge_attr": np.concatenate([1 + np.arange(2 * size) % size % 2 for size in sizes]),
            f"{part}_y": np.array([(atoms == 1).mean() for atoms in x], np.float32),
            f"{part}_x_ptr": np.cumsum([0, *sizes]),
            f"{part}_e_ptr": np.cumsum([0, *(2 * sizes)]),
        }
    return arrays
