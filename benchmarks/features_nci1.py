"""NCI1: walk features beside GraKeL's Weisfeiler-Leman features."""

from grakel.kernels import VertexHistogram, WeisfeilerLehman

from benchmarks.measure import cpu_seconds, record
from experiments.kernels import grakel_graphs
from rwkplus.datasets import load_graphs
from rwkplus.kernels import RandomWalkFeatures


def main():
    """Time both on all graphs."""
    graphs = load_graphs("NCI1")
    ours, features = cpu_seconds(lambda: RandomWalkFeatures(steps=4).fit_transform(graphs))
    colors, _ = cpu_seconds(lambda: RandomWalkFeatures("node-centric", steps=4).fit_transform(graphs))
    inputs = grakel_graphs(graphs.to_pyg())
    peer, _ = cpu_seconds(
        lambda: WeisfeilerLehman(n_iter=4, base_graph_kernel=VertexHistogram).fit_transform(inputs), repeats=1
    )
    record(
        "features_nci1",
        "Features of NCI1, walks of 1 to 4 edges",
        f"`RandomWalkFeatures(steps=4).fit_transform` ({features.shape[1]:,} label sequences), "
        "reading of the table included; GraKeL's `WeisfeilerLehman(n_iter=4).fit_transform`, "
        "which ends in a Gram matrix, conversion not "
        "included. CPU time.",
        [
            {"features": "rwkplus label sequences", "seconds": ours, "times faster": peer / ours},
            {"features": "rwkplus node-centric colors", "seconds": colors, "times faster": peer / colors},
            {"features": "GraKeL Weisfeiler-Leman", "seconds": peer, "times faster": 1.0},
        ],
    )


if __name__ == "__main__":
    main()
