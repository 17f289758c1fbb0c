"""Small files in the schema of TwiBot-22."""

import json
import random


def users(n):
    """Ids that are in no order."""
    numbers = random.Random(0).sample(range(10**17, 10**18), n)
    return [f"u{number}" for number in numbers]


def metrics(draw, i):
    """Numbers that differ, and one that nobody has."""
    counts = (draw.randrange(5000), i, i * i, None)
    return dict(zip(("followers_count", "following_count", "tweet_count", "listed_count"), counts, strict=True))


def write_raw(folder, n=30, *, order=0):
    """Write the four files; ``order`` shuffles the tables without changing what they say."""
    draw = random.Random(1)
    ids = users(n)
    folder.mkdir(parents=True, exist_ok=True)
    records = [
        {
            "id": user,
            "description": None if i % 5 == 0 else f"user {i % 7} — likes graphs",
            "entities": {"url": {"urls": [{"start": 0}]}} if i % 3 else None,
            "public_metrics": metrics(draw, i) if i else None,
        }
        for i, user in enumerate(ids)
    ]
    (folder / "user.json").write_text(json.dumps(records, indent=0, ensure_ascii=False), encoding="utf-8")
    edges = [(draw.choice(ids), draw.choice(["followers", "following"]), draw.choice(ids)) for _ in range(4 * n)]
    edges += [(ids[0], "post", "t123"), (ids[1], "following", "u999")]
    labels = [(user, "bot" if i % 4 == 0 else "human") for i, user in enumerate(ids)]
    splits = [(user, ("train", "train", "val", "test")[i % 4 if i > 3 else 0]) for i, user in enumerate(ids)]
    splits = [(user, "valid" if part == "val" else part) for user, part in splits]
    for name, head, rows in (
        ("edge", ("source_id", "relation", "target_id"), edges),
        ("label", ("id", "label"), labels),
        ("split", ("id", "split"), splits),
    ):
        columns = list(range(len(head)))
        if order:
            random.Random(order).shuffle(rows)
            columns.reverse()
        lines = [",".join(row[c] for c in columns) for row in [head, *rows]]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return folder


if __name__ == "__main__":  # a run to be killed: slow, and told where
    import sys
    import time

    from experiments.twibot_graph import make_encoder, preprocess

    hashing = make_encoder("hashing")

    class Slow:
        name, width = "hashing", 384

        def __call__(self, texts):
            time.sleep(0.05)
            return hashing(texts)

    preprocess(sys.argv[1], sys.argv[2], encoder=Slow(), batch_size=4, on_step=lambda m: print(m, flush=True))
