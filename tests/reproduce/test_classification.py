from rwkplus.reproduce import classification, cross_validated
from rwkplus.reproduce.results import read_result


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
