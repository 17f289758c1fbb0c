"""RWKPlusConv beside GCNConv on PubMed's graph; the same as ``rwkplus reproduce runtime``."""

from rwkplus.reproduce.markdown import rows_table
from rwkplus.reproduce.runtime import RESULT, run_runtime


def main():
    """Measure and print the rows."""
    rows = run_runtime()
    print(f"results/{RESULT}.json")
    print(rows_table(rows))


if __name__ == "__main__":
    main()
