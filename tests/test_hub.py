import json
import sys

import numpy as np
import pytest

from rwkplus import GraphClassifier, PatternMiner, RandomWalkKernel, SurpriseDetector
from rwkplus.errors import MissingExtraError, ParameterError

HubModel = pytest.importorskip("rwkplus.hub").HubModel
hub = sys.modules["rwkplus.hub"]
X, Y = ["c1ccccc1O", "CCCCCC", "c1ccccc1CO", "CCCCO"] * 6, [0, 1, 0, 1] * 6
ESTIMATORS = {
    "kernel": (RandomWalkKernel(steps=2), lambda kernel: kernel.transform(["CCCO"])),
    "miner": (PatternMiner(2, n_controls=0), lambda miner: miner.transform(["CCCO"])),
    "detector": (SurpriseDetector(), lambda detector: detector.score_samples(["CCCO"])),
    "network": (GraphClassifier("gin", epochs=2, ignore=("edge_attr",)), lambda model: model.predict_proba(["CCCO"])),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_what_was_saved_comes_back_without_a_network_or_a_pickle(name, tmp_path):
    estimator, judge = ESTIMATORS[name]
    HubModel(estimator.fit(X, Y)).save_pretrained(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "config.json", "model.safetensors"]
    again = HubModel.from_pretrained(tmp_path).estimator
    assert type(again) is type(estimator)
    np.testing.assert_array_equal(judge(again), judge(estimator))
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["kind"] == type(estimator).__name__
    assert "learned" not in config
    assert f"# {config['kind']}" in (tmp_path / "README.md").read_text()


def test_a_name_of_the_hub_is_downloaded(tmp_path, monkeypatch):
    estimator, judge = ESTIMATORS["kernel"]
    HubModel(estimator.fit(X)).save_pretrained(tmp_path)
    asked = {}

    def download(repository, filename, **options):
        asked.update(options, repository=repository, filename=filename)
        return tmp_path / filename

    monkeypatch.setattr(hub, "hf_hub_download", download)
    monkeypatch.setattr("huggingface_hub.hub_mixin.hf_hub_download", lambda repo_id, filename, **_: tmp_path / filename)
    again = HubModel.from_pretrained("me/kernel", revision="v1").estimator
    np.testing.assert_array_equal(judge(again), judge(estimator))
    assert (asked["repository"], asked["filename"], asked["revision"]) == ("me/kernel", "model.safetensors", "v1")


def test_a_model_is_uploaded_with_its_card(monkeypatch):
    from huggingface_hub import HfApi

    sent = {}

    def upload(self, *, folder_path, **_):
        sent.update({path.name: path.read_text(errors="replace") for path in folder_path.iterdir()})

    monkeypatch.setattr(HfApi, "create_repo", lambda *_, **options: type("Url", (), {"repo_id": options["repo_id"]}))
    monkeypatch.setattr(HfApi, "upload_folder", upload)
    HubModel(RandomWalkKernel(steps=1).fit(X)).push_to_hub("me/kernel")
    assert sorted(sent) == ["README.md", "config.json", "model.safetensors"]
    assert "library_name: rwkplus" in sent["README.md"]


def test_only_estimators_can_be_shared():
    with pytest.raises(ParameterError, match="estimator must be one of rwkplus"):
        HubModel("kernel")


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    monkeypatch.delitem(sys.modules, "rwkplus.hub")
    with pytest.raises(MissingExtraError, match=r"rwkplus\[hub\]"):
        import rwkplus.hub  # noqa: F401
