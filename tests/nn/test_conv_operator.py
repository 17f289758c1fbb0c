import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rwkplus.functional.walks import rwk_plus_conv, sparse_product
from rwkplus.nn import conv_loops, conv_operator
from rwkplus.nn.conv_operator import fused_conv, to_csr, transpose

COMBINE = ["last", "sum", "concat"]


class Problem:
    """Random tensors for one call, in float64 and with gradients."""

    def __init__(self, nodes=7, hidden=3, colors=1, edges=20, seed=0, dtype=torch.float64):
        generator = torch.Generator().manual_seed(seed)

        def random(*shape):
            return torch.randn(*shape, dtype=dtype, generator=generator)

        self.colors, self.shape = colors, (nodes, nodes * colors)
        self.row = (
            torch.randint(nodes, (edges if nodes else 0,), generator=generator) if nodes else torch.zeros(0).long()
        )
        self.col = torch.randint(max(1, nodes * colors), (self.row.numel(),), generator=generator)
        self.value = random(self.row.numel())
        self.parameters = [
            random(nodes, hidden).requires_grad_(),
            random(hidden, colors * hidden).requires_grad_(),
            random(hidden).requires_grad_(),
        ]

    def rows(self, both=False):
        matrix = to_csr(self.row, self.col, self.value, *self.shape)
        return (*matrix, *transpose(matrix, self.shape[1])) if both else matrix

    def fused(self, *parameters, both=False, **options):
        logits, hidden_adj, bias = parameters or self.parameters
        return fused_conv(logits, self.rows(both), hidden_adj, bias, **options)

    def twin(self, *, recompute=False, both=False, **options):
        logits, hidden_adj, bias = self.parameters
        edges = torch.stack([self.row, self.col])

        def propagate(y):
            moved = (y @ hidden_adj).view(-1, bias.numel())
            return sparse_product(edges, moved, self.value, num_rows=self.shape[0]) + bias

        return rwk_plus_conv(logits, propagate, **options)


def assert_same(problem, **options):
    results = []
    for way in (problem.fused, problem.twin):
        out = way(**options)
        weights = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)
        results.append((out, *torch.autograd.grad(out, problem.parameters, weights)))
    for fused, twin in zip(*results, strict=True):
        torch.testing.assert_close(fused, twin)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0], ids=["all pairs", "by need", "pairs that occur"])
@pytest.mark.parametrize("sizes", [(7, 20), (7, 1), (7, 0), (0, 0)], ids=str)
@pytest.mark.parametrize("both", [True, False])
def test_pairs_of_node_and_color_without_an_edge_may_be_left_out(share, sizes, both, monkeypatch):
    monkeypatch.setattr(conv_operator, "MOST_PAIRS", share)
    nodes, edges = sizes
    assert_same(Problem(nodes, colors=6, edges=edges), steps=3, combine="concat", both=both)


@given(
    nodes=st.integers(0, 9),
    hidden=st.integers(1, 5),
    colors=st.integers(1, 3),
    edges=st.integers(0, 60),
    seed=st.integers(0, 99),
    steps=st.integers(1, 4),
    combine=st.sampled_from(COMBINE),
    recompute=st.booleans(),
    both=st.booleans(),
)
def test_values_and_gradients_are_those_of_the_torch_twin(nodes, hidden, colors, edges, seed, **options):
    assert_same(Problem(nodes, hidden, colors, edges, seed), **options)


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("combine", COMBINE)
def test_gradients_are_those_of_finite_differences(combine, recompute):
    problem = Problem(nodes=4, hidden=2, colors=2, edges=9)
    options = {"steps": 3, "combine": combine, "recompute": recompute}
    assert torch.autograd.gradcheck(lambda *parameters: problem.fused(*parameters, **options), problem.parameters)


@pytest.mark.skipif(conv_loops.numba.config.NUMBA_NUM_THREADS < 2, reason="numba has one core only")
@pytest.mark.parametrize("combine", COMBINE)
def test_several_threads_give_the_same(combine, monkeypatch):
    problem = Problem(nodes=50, edges=300, dtype=torch.float32)
    monkeypatch.setattr(conv_loops, "WORK_OF_A_THREAD", 1)
    monkeypatch.setattr(conv_loops.numba.config, "NUMBA_NUM_THREADS", 2)
    calls = []
    blocks = {loop: lambda *a, b=b: (calls.append(b), b(*a)) for loop, b in conv_loops.IN_BLOCKS.items()}
    monkeypatch.setattr(conv_loops, "IN_BLOCKS", blocks)
    torch.set_num_threads(2)
    try:
        assert_same(problem, steps=2, combine=combine)
    finally:
        torch.set_num_threads(1)
    assert len(set(calls)) == len(blocks)  # every loop ran in blocks


@pytest.mark.parametrize("recompute", [False, True])
def test_the_output_may_be_changed_in_place(recompute):
    problem = Problem()
    expected = torch.autograd.grad(problem.fused(steps=2, combine="last").relu().sum(), problem.parameters)
    changed = problem.fused(steps=2, combine="last", recompute=recompute).relu_()
    for one, other in zip(torch.autograd.grad(changed.sum(), problem.parameters), expected, strict=True):
        torch.testing.assert_close(one, other)


def test_gradients_that_are_no_blocks_of_memory_are_read_right():
    problem = Problem()
    expected = torch.autograd.grad(
        problem.fused(steps=2, combine="last"), problem.parameters, torch.ones(7, 3).double()
    )
    out = problem.fused(steps=2, combine="last").sum()  # an expanded scalar
    for one, other in zip(torch.autograd.grad(out, problem.parameters), expected, strict=True):
        torch.testing.assert_close(one, other)


def saved_elements(problem, **options):
    sizes = {}
    with torch.autograd.graph.saved_tensors_hooks(lambda t: sizes.update({t.data_ptr(): t.numel()}) or t, lambda t: t):
        out = problem.fused(both=True, **options)
    del out
    matrix = {part.data_ptr() for part in problem.parameters}
    return sum(size for pointer, size in sizes.items() if pointer not in matrix)


def test_recomputation_keeps_one_array_for_any_number_of_steps():
    problem = Problem(nodes=100, hidden=8, edges=3)
    one = problem.shape[0] * 8
    for steps in (2, 5):
        kept = saved_elements(problem, steps=steps, combine="last")
        recomputed = saved_elements(problem, steps=steps, combine="last", recompute=True)
        assert kept - recomputed == steps * one  # walkers and the output
        assert recomputed < 2 * one  # the colors, and a little of the sparse matrix


@pytest.mark.parametrize("flushed", [False, True])
def test_denormal_numbers_are_treated_afterwards_as_before(flushed):
    if not torch.set_flush_denormal(flushed):
        pytest.skip("this processor has no such mode")
    try:
        Problem(dtype=torch.float32).fused(steps=2, combine="last").sum().backward()
        assert bool(torch.finfo(torch.float32).tiny / torch.tensor(2.0) == 0) == flushed
    finally:
        torch.set_flush_denormal(False)


def test_colors_next_to_zero_give_zero_and_no_gradient():
    problem = Problem(dtype=torch.float32)
    problem.parameters[0] = (problem.parameters[0] - 200).detach().requires_grad_()
    out = problem.fused(steps=3, combine="last")
    assert out.abs().max() == 0
    assert all(torch.isfinite(grad).all() for grad in torch.autograd.grad(out.sum(), problem.parameters))


def test_without_gradients_nothing_is_kept():
    problem = Problem()
    with torch.no_grad():
        out = problem.fused(steps=3, combine="last")
    assert not out.requires_grad
    torch.testing.assert_close(out, problem.twin(steps=3, combine="last").detach())


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("combine", COMBINE)
def test_the_operator_follows_the_rules_of_torch(combine, keep):
    problem = Problem(colors=2)
    logits, hidden_adj, bias = problem.parameters
    arguments = (logits, list(problem.rows()), hidden_adj, bias, 3, combine, keep)
    torch.library.opcheck(torch.ops.rwkplus.conv, arguments, test_utils=["test_schema", "test_faketensor"])
    compiled = torch.compile(problem.fused, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(
        compiled(steps=3, combine=combine, recompute=not keep), problem.twin(steps=3, combine=combine)
    )


def test_second_derivatives_are_refused():
    problem = Problem()
    grad = torch.autograd.grad(problem.fused(steps=2, combine="last").sum(), problem.parameters[0], create_graph=True)
    with pytest.raises(RuntimeError, match="autograd"):
        grad[0].sum().backward()
