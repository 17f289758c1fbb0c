"""``rwkplus datasets``."""

from rich.table import Table

from rwkplus.cli.console import out, print_json
from rwkplus.cli.options import Json


def datasets(as_json: Json = False) -> None:
    """List the known data sets and where they are."""
    from rwkplus.datasets.catalog import DATA_VARIABLE, REGISTRY, find

    rows = [
        {
            "name": entry.name,
            "about": entry.about,
            "where": "embedded" if entry.make else str(find(entry) or "") or None,
        }
        for entry in REGISTRY.values()
    ]
    if as_json:
        print_json({"datasets": rows})
        return
    table = Table("name", "about", "on this machine", box=None)
    for row in rows:
        where = {"embedded": "embedded", None: "-"}.get(row["where"], "yes")
        table.add_row(row["name"], row["about"], where)
    out.print(table)
    out.print(
        f"\nSets on this machine are read from the folder that {DATA_VARIABLE} names. PyG downloads the others of the "
        "TU collection when they are first used; reddit10k and the balanced screens are not among them.\n"
        "In Python also load_nodes of rwkplus.datasets for single graphs, and load_zinc and load_molhiv with published "
        "splits."
    )
