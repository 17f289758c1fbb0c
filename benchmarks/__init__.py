"""Speed and memory beside the peers: equality first, then time. Results go to ``results/benchmarks``."""
