"""Speed and memory beside the peers: equality first, then time. Results go to ``experiments/results/benchmarks``."""
