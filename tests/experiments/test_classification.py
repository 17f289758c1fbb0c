import pytest

from experiments import classification, cross_validated
from experiments.records import RESULTS, read_result
from rwkplus.training import cross_validation, estimators


def test_a_small_run_is_written_method_by_method_and_not_repeated(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runs = []
    run = cross_validated.cross_validate

    def counted(*arguments, **options):
        runs.append(arguments[0])
        return run(*arguments, **options)

    monkeypatch.setattr(cross_validated, "cross_validate", counted)
    scores = classification.run_classification("functional-groups", epochs=2, methods=["GIN"])
    assert len(scores["GIN"]) == cross_validated.FOLDS
    assert set(scores["guards"]) == {"majority", "size", "histogram"}
    stored = read_result("classification/functional-groups")["values"]["scores"]
    assert stored["GIN"][0]["params"]["layers"] in (2, 3)
    again = classification.run_classification("functional-groups", epochs=2, methods=["GIN"])
    assert again == stored
    assert runs == ["gin"]


def test_a_killed_run_goes_on_where_it_stopped(tmp_path, monkeypatch):
    def run(folder):
        (tmp_path / folder).mkdir(exist_ok=True)
        monkeypatch.chdir(tmp_path / folder)
        folds = classification.run_classification("functional-groups", epochs=2, methods=["GIN"])["GIN"]
        return [fold | {"s": None} for fold in folds]

    trained, train, test = [], estimators.run_epochs, cross_validation.tested

    def counted(*arguments, **options):
        trained.append(arguments[0])
        return train(*arguments, **options)

    def killed(data, chosen, number, index):
        if number == 2:
            raise KeyboardInterrupt
        return test(data, chosen, number, index)

    monkeypatch.setattr(estimators, "run_epochs", counted)
    whole = run("whole")
    assert len(trained) == 2 * cross_validated.FOLDS
    monkeypatch.setattr(cross_validation, "tested", killed)
    with pytest.raises(KeyboardInterrupt):
        run("killed")
    monkeypatch.setattr(cross_validation, "tested", test)
    assert run("killed") == whole
    assert len(trained) == 4 * cross_validated.FOLDS
    (RESULTS / "classification/functional-groups.json").unlink()
    assert run("killed") == whole
    assert len(trained) == 6 * cross_validated.FOLDS, "whoever deletes a result starts anew"
