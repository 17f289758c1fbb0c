"""RWKPlusConv beside GCNConv on PubMed's graph; the same as ``python -m experiments runtime``."""

from experiments.pages import rows_table
from experiments.records import RESULTS
from experiments.runtime import RESULT, run_runtime


def main():
    """Measure and print the rows."""
    rows = run_runtime()
    print(RESULTS / f"{RESULT}.json")
    print(rows_table(rows))


if __name__ == "__main__":
    main()
