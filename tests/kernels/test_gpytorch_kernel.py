import sys

import numpy as np
import pytest
import torch

from rwkplus import RandomWalkFeatures, RandomWalkKernel, kernels
from rwkplus.errors import MissingExtraError, ParameterError

gpytorch = pytest.importorskip("gpytorch")
GRAPHS = ["CC", "CCC", "CCO", "CCN", "CCCO", "OCCO"]
Y = torch.tensor([2.0, 3.0, 3.5, 3.2, 4.5])
ESTIMATOR = RandomWalkKernel(steps=2, normalize=True)


@pytest.fixture
def kernel():
    return kernels.GPyTorchKernel(ESTIMATOR, GRAPHS).double()


def test_covariances_are_the_kernel(kernel):
    expected = ESTIMATOR.fit_transform(GRAPHS)
    numbers = kernel.inputs
    np.testing.assert_allclose(kernel(numbers).to_dense(), expected, rtol=1e-6)
    np.testing.assert_allclose(kernel(numbers[[2, 0]], numbers).to_dense(), expected[[2, 0]], rtol=1e-6)
    np.testing.assert_allclose(kernel(numbers, diag=True), expected.diagonal(), rtol=1e-6)
    batched = kernel(torch.stack([numbers[:2], numbers[3:5]]), numbers).to_dense()
    np.testing.assert_allclose(batched[1], expected[3:5], rtol=1e-6)


class Process(gpytorch.models.ExactGP):
    def __init__(self, kernel):
        super().__init__(kernel.inputs[:5], Y.double(), gpytorch.likelihoods.GaussianLikelihood())
        self.mean, self.covariance = gpytorch.means.ZeroMean(), gpytorch.kernels.ScaleKernel(kernel)
        self.double()

    def forward(self, numbers):
        return gpytorch.distributions.MultivariateNormal(self.mean(numbers), self.covariance(numbers))


def test_predictions_are_those_of_the_formula(kernel):
    process = Process(kernel)
    gram, noise = ESTIMATOR.fit_transform(GRAPHS), process.likelihood.noise.item()
    scaled = process.covariance.outputscale.item() * gram
    expected = scaled[5:, :5] @ np.linalg.solve(scaled[:5, :5] + noise * np.eye(5), Y.double().numpy())
    with torch.no_grad():
        np.testing.assert_allclose(process.eval()(kernel.inputs[5:]).mean, expected, rtol=1e-5)


def test_its_scale_is_learned_by_marginal_likelihood(kernel):
    process = Process(kernel)
    likelihood = gpytorch.mlls.ExactMarginalLogLikelihood(process.likelihood, process)
    optimizer = torch.optim.Adam(process.parameters(), lr=0.1)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = -likelihood(process(kernel.inputs[:5]), Y.double())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.1


def test_only_kernels_of_graphs_are_taken():
    with pytest.raises(ParameterError, match="kernel must be a graph kernel"):
        kernels.GPyTorchKernel("rbf", GRAPHS)
    with pytest.raises(ParameterError, match="gives features, not kernels"):
        kernels.GPyTorchKernel(RandomWalkFeatures(steps=1), GRAPHS)


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "gpytorch.kernels", None)
    monkeypatch.delitem(sys.modules, "rwkplus.kernels.gpytorch_kernel", raising=False)
    with pytest.raises(MissingExtraError, match=r"rwkplus\[gp\]"):
        _ = kernels.GPyTorchKernel
