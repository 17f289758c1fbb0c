"""The paper's experiments, one module per table or figure: ``python -m experiments NAME``.

Each module has the runner of an experiment, its command and the page that shows its results. Runners write files into
``experiments/results``, and ``python -m experiments tables`` makes the pages in ``docs/results`` of them. This package
is no part of the library and may import all of it; nothing in ``rwkplus`` imports it.
"""
