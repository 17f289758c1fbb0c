"""``rwkplus datasets``."""

from rich.table import Table

from rwkplus.cli.console import out, print_json
from rwkplus.cli.options import Json


def datasets(as_json: Json = False) -> None:
    """List the registered data sets, and which are on this machine."""
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
        f"\nembedded: included in the package. yes: found in the folder that {DATA_VARIABLE} names. PyG downloads "
        "other sets of the TU collection on first use; reddit10k and the balanced screens cannot be downloaded.\n"
        "In Python, rwkplus.datasets also has load_nodes for single graphs, and load_zinc and load_molhiv with "
        "published splits."
    )
