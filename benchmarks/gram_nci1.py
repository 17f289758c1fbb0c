"""NCI1, walks to length 4: time and memory of the full Gram matrix."""

from benchmarks.measure import cpu_seconds, record
from experiments.speed import peak_gigabytes
from rwkplus.datasets import load_graphs
from rwkplus.kernels import RandomWalkKernel


def main():
    """Time each kernel on all pairs."""
    graphs = load_graphs("NCI1")
    before = peak_gigabytes()
    rows = []
    for name in ("rwk+", "rwk-", "node-centric"):
        seconds, gram = cpu_seconds(lambda name=name: RandomWalkKernel(name, 4).fit_transform(graphs), repeats=3)
        rows.append({"kernel": name, "graphs": len(gram), "CPU seconds": seconds, "peak GB": peak_gigabytes()})
    record(
        "gram_nci1",
        "Gram matrix of NCI1, walks of 1 to 4 edges",
        f"All pairs of the 4,110 molecules from table to matrix. CPU time on one thread; "
        f"peak resident memory of the process, {before:.2f} GB of it before the kernel (libraries and data).",
        rows,
    )


if __name__ == "__main__":
    main()
