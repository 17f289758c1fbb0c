"""The straightforward KerGNN, after the paper's formulas: every egonet padded to the same size, dense products."""

import torch
from torch import einsum, nn
from torch_geometric.nn import global_add_pool


class PaddedEgonets:
    """Adjacencies ``(N, P, P)``, members ``(N, P)``, and which of them are real."""

    def __init__(self, egonets, size):
        nodes = egonets.size.numel()
        rank = torch.cat([torch.arange(n) for n in egonets.size.tolist()])
        self.members = torch.zeros(nodes, size, dtype=torch.long)
        self.mask = torch.zeros(nodes, size)
        self.members[egonets.owner, rank], self.mask[egonets.owner, rank] = egonets.member, 1
        self.adj = torch.zeros(nodes, size, size)
        owner = torch.arange(nodes).repeat_interleave(egonets.link_count)
        self.adj[owner, egonets.link[:, 0], egonets.link[:, 1]] = 1


class PaddedConv(nn.Module):
    """Algorithm 1, or RWK-, on padded egonets, with the hidden graphs and StepNorm of another layer."""

    def __init__(self, conv):
        super().__init__()
        self.conv = conv

    def forward(self, x, egonets):
        """Sum over steps, mean over real nodes if so wanted: ``(N, K)``."""
        hidden_x, hidden_adj = self.conv.hidden.x, self.conv.hidden.adj
        mask = egonets.mask.unsqueeze(-1)
        y0 = einsum("npd,kmd->nkpm", x[egonets.members] * mask, hidden_x)
        y, total = y0, 0
        for step in range(self.conv.steps):
            y = einsum("npq,nkqm->nkpm", egonets.adj, y)
            y = einsum("nkpm,klm->nkpl", y, hidden_adj)
            if self.conv.norm.placement is not None:
                y = self.normalized(y, step, mask.unsqueeze(1))
            matched = y0 * y
            total = total + matched.sum((2, 3))
            if self.conv.kernel == "rwk+":
                y = y0 * matched
        sizes = egonets.mask.sum(1, keepdim=True) * hidden_adj.size(1)
        return total / sizes if self.conv.aggr == "mean" else total

    def normalized(self, y, step, mask):
        """StepNorm over real nodes: BatchNorm with a mask, then sigmoid."""
        norm = self.conv.norm
        count = mask.sum() * y.size(3)
        mean = (y * mask).sum((0, 2, 3), keepdim=True) / count
        centered = (y - mean) * mask
        var = centered.square().sum((0, 2, 3), keepdim=True) / count
        weight, bias = norm.weight[step].view(1, -1, 1, 1), norm.bias[step].view(1, -1, 1, 1)
        return torch.sigmoid(centered / (var + norm.eps).sqrt() * weight + bias)


class PaddedKerGNN(nn.Module):
    """One padded convolution in the network of KerGNN."""

    def __init__(self, model):
        super().__init__()
        self.encoder, self.norm, self.mlp = model.encoder, model.norms[0], model.mlp
        self.conv = PaddedConv(model.convs[0])

    def forward(self, batch, egonets):
        """Outputs of every graph."""
        x = self.encoder(batch.x).relu()
        x = x + self.norm(self.conv(x, egonets)).relu()
        return self.mlp(global_add_pool(x, batch.batch, batch.num_graphs))
