"""A graph network tells the communities of a graph apart.

    python examples/graph_network.py [--people N] [--epochs N] [--trace]

The graph is made: people of four groups, who know each other mostly within their group. A few of
them say which group they are of. Two layers that mix what neighbours have (`adj @ x`, with a sparse
matrix) find the groups of the others: nine of ten.
"""
import numpy as np
import whet
import whet.nn.functional as F
from command import run
from whet import nn, optim

GROUPS = 4


def made_graph(people, seed=0):
    """(an adjacency matrix of layout CSR, each person's features, each person's group)"""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, GROUPS, people)
    edges = rng.integers(0, people, (2, 40 * people))
    kept = (group[edges[0]] == group[edges[1]]) | (rng.random(edges.shape[1]) < 0.15)
    edges = edges[:, kept]
    edges = np.concatenate([edges, edges[::-1], np.tile(np.arange(people), (2, 1))], 1)
    adj = whet.sparse_coo_tensor(edges, whet.ones(edges.shape[1]), (people, people)).coalesce()
    degree = whet.sparse.sum(adj, 1).to_dense() ** -0.5
    rows, columns = adj.indices()
    adj = whet.sparse_coo_tensor(adj.indices(), adj.values() * degree[rows] * degree[columns],
                                 (people, people), is_coalesced=True)
    features = rng.standard_normal((people, 16)) + 0.3 * np.eye(16)[group]
    return adj.to_sparse_csr(), whet.tensor(features.astype("f4")), whet.tensor(group)


class GraphNetwork(nn.Module):
    """Two layers: each mixes what neighbours have."""

    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.first, self.second = nn.Linear(inputs, hidden), nn.Linear(hidden, outputs)

    def forward(self, x, adj):
        x = F.relu(adj @ self.first(x))
        return adj @ self.second(F.dropout(x, 0.5, self.training))


def main(people=5000, epochs=100, trace=False):
    whet.manual_seed(0)
    adj, features, group = made_graph(people)
    known = whet.rand(people) < 0.05
    model = GraphNetwork(features.shape[1], 32, GROUPS)
    optimizer = optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(features, adj)[known], group[known])
        loss.backward()
        optimizer.step()
        return loss
    step = whet.jit.trace(step) if trace else step
    losses = []
    for epoch in range(1, epochs + 1):
        losses.append(step().item())
        if epoch % 20 == 0 or epoch == epochs:
            print(f"epoch {epoch:3d}/{epochs}  loss {losses[-1]:.3f}")
    model.eval()
    with whet.no_grad():
        found = (model(features, adj).argmax(1) == group)[~known].float().mean().item()
    print(f"{people} people, {adj._nnz()} ties, {int(known.sum())} known groups: "
          f"{found:.1%} of the others found")
    return losses, found


if __name__ == "__main__":
    run(main)
