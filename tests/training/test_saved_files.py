"""Files of networks that were changed by hand, and files of other versions."""

import copy
import json
import math

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.torch import save_file

from rwkplus.errors import DataError, GraphError
from rwkplus.files import HEADER
from rwkplus.saving import load
from rwkplus.training import GraphClassifier, GraphRegressor, NodeClassifier, train
from rwkplus.training.estimators import estimator_of
from tests.training.test_columns import molecules
from tests.training.test_nodes import communities
from tests.training.toy import QUICK, SMALL, rings, surplus

CHOICES = {"model": "gin", "model_params": SMALL, "epochs": 2, "batch_size": 8, "accelerator": "cpu"}


def questions():
    y = np.array([[i % 2, 1 - i % 2] for i in range(24)], float)
    return GraphClassifier(**CHOICES).fit(rings(), y), rings(3)


MADE = {
    "classes": lambda: (GraphClassifier(**CHOICES).fit(rings()), rings(3)),
    "numbers": lambda: (GraphRegressor(**CHOICES).fit(rings(), surplus(rings())), rings(3)),
    "questions": questions,
    "columns": lambda: (GraphClassifier(**CHOICES | {"model": "gnn"}).fit(molecules()), molecules(3)),
    "degrees": lambda: (GraphClassifier(**CHOICES, features="degree").fit(rings()), rings(3)),
    "nodes": lambda: (NodeClassifier(epochs=2, class_weight={0: 1.0, 1: 2.0}).fit(communities()), communities()),
}
STRANGE = [None, -1, 0, 0.5, "word", "", [], [[]], {}, {"a": 1}, True, math.nan, 10**400, [1, "a"], [None], "discrete"]


def parts(path):
    with safe_open(path, "pt") as file:
        return json.loads(file.metadata()[HEADER]), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def paths(values, before=()):
    """Places of all values inside a header, but for the digest and settings of the run, which nobody computes with."""
    if before:
        yield before
    if isinstance(values, dict):
        for key, value in values.items():
            if (*before, key) != ("learned", "run"):
                yield from paths(value, (*before, key))
    elif isinstance(values, list):
        for i, value in enumerate(values):
            yield from paths(value, (*before, i))


def changed(header, path, value=None, *, remove=False):
    header = copy.deepcopy(header)
    place = header
    for key in path[:-1]:
        place = place[key]
    if remove:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return header


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no label of the")
@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_whatever_is_changed_is_refused_or_harmless(make, tmp_path):
    estimator, graphs = make()
    path = estimator.save(tmp_path / "model.safetensors")
    header, weights = parts(path)
    outcomes = []
    for place in paths(header):
        variants = [changed(header, place, value) for value in STRANGE] + [changed(header, place, remove=True)]
        for variant in variants:
            save_file(weights, path, {HEADER: json.dumps(variant)})
            outcomes.append(outcome(path, graphs))
    assert outcomes.count("refused") > 300


def outcome(path, graphs):
    """Whether a file is refused; where it is not, it must predict, or say why these graphs are not what it expects."""
    try:
        found = load(path)
    except DataError:
        return "refused"
    try:
        found.predict(graphs)
    except GraphError:
        return "other graphs"
    return "harmless"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda learned: learned.pop("inputs"), "missing required field `inputs`"),
        (lambda learned: learned["target"].update(kind="divination"), "it does not say what its outputs mean"),
        (lambda learned: learned["target"].update(names=["a", "b", "c"]), "its weights do not fit a gin"),
        (lambda learned: learned["inputs"]["reader"]["nodes"].update(names=["red"]), "do not fit together"),
        (lambda learned: learned["params"].update(heads=3), "its weights do not fit a gin with its parameters"),
        (lambda learned: learned.update(more=3), "unknown field `more`"),
        (lambda learned: learned.update(best_epoch=99), "not what a GraphClassifier has learned"),
    ],
)
def test_what_is_wrong_is_told(change, message, tmp_path):
    path = GraphClassifier(**CHOICES).fit(rings()).save(tmp_path / "model.safetensors")
    header, weights = parts(path)
    change(header["learned"])
    save_file(weights, path, {HEADER: json.dumps(header)})
    with pytest.raises(DataError, match=f"is damaged or was changed by hand: .*{message}"):
        load(path)


def test_weights_of_another_network_are_refused(tmp_path):
    path = GraphClassifier(**CHOICES).fit(rings()).save(tmp_path / "model.safetensors")
    header, weights = parts(path)
    save_file(
        {name: value for name, value in weights.items() if "bias" not in name}, path, {HEADER: json.dumps(header)}
    )
    with pytest.raises(DataError, match="its weights do not fit"):
        load(path)


def test_files_of_the_first_version_are_refused_with_what_to_do(tmp_path):
    path = tmp_path / "old.safetensors"
    save_file({}, path, {HEADER: json.dumps({"format": "rwkplus model, version 1", "name": "gin"})})
    with pytest.raises(DataError, match=r"saved by rwkplus 0\.1 .*Fit and save it again"):
        load(path)


def test_what_a_function_trained_is_saved_as_the_estimator_it_belongs_to(tmp_path):
    graphs = rings()
    kinds = {GraphClassifier: None, GraphRegressor: surplus(graphs)}
    for kind, y in kinds.items():
        trained = train("gin", graphs, y, model_params=SMALL, settings=QUICK, ignore=("edge_weight",))
        found = load(estimator_of(trained).save(tmp_path / "model.safetensors"))
        assert type(found) is kind
        assert (found.predict(graphs) == trained.predict(graphs)).all()
        assert (found.lr, found.model, found.model_params) == (QUICK.lr, "gin", SMALL)
        assert found.ignore == ("edge_weight",)
