//! Static routes: fewest hops over decodable radio links and wires, ties to the lower node number.

use std::collections::VecDeque;

use crate::ids::{IdVec, NodeId};

/// Neighbours of each node in ascending order.
type Neighbours = IdVec<NodeId, Vec<NodeId>>;

/// For each node: the next hop towards some destination, or `NONE`.
type Table = IdVec<NodeId, NodeId>;

const NONE: NodeId = NodeId(u32::MAX);

/// Next hops of every node towards every destination that was requested.
#[derive(Clone, Debug)]
pub struct Routes {
    /// Neighbours of each node in ascending order.
    neighbours: Neighbours,
    /// towards[dst][node], computed at the first request.
    towards: IdVec<NodeId, Option<Table>>,
}

impl Routes {
    /// `edges` are directed.
    pub fn new(nodes: usize, edges: impl Iterator<Item = (NodeId, NodeId)>) -> Self {
        Routes { neighbours: neighbours(nodes, edges), towards: IdVec::filled(None, nodes) }
    }

    /// Whether these edges differ from those of the routes.
    pub fn edges_differ(&self, edges: &[(NodeId, NodeId)]) -> bool {
        neighbours(self.neighbours.len(), edges.iter().copied()) != self.neighbours
    }

    /// The next hop from `node` to `dst`, or None if there is no path.
    pub fn next_hop(&mut self, node: NodeId, dst: NodeId) -> Option<NodeId> {
        Some(self.table(dst)[node]).filter(|&next| next != NONE)
    }

    /// The nodes on the path from `node` to `dst`, both included. Empty if there is no path.
    pub fn path(&mut self, node: NodeId, dst: NodeId) -> Vec<NodeId> {
        let mut path = vec![node];
        let mut last = node;
        while last != dst {
            let Some(next) = self.next_hop(last, dst) else { return Vec::new() };
            path.push(next);
            last = next;
        }
        path
    }

    fn table(&mut self, dst: NodeId) -> &Table {
        let neighbours = &self.neighbours;
        self.towards[dst].get_or_insert_with(|| breadth_first(neighbours, dst))
    }
}

/// Neighbours of each node in ascending order.
fn neighbours(nodes: usize, edges: impl Iterator<Item = (NodeId, NodeId)>) -> Neighbours {
    let mut neighbours = Neighbours::filled(Vec::new(), nodes);
    for (from, to) in edges {
        neighbours[from].push(to);
    }
    for list in &mut neighbours {
        list.sort_unstable();
        list.dedup();
    }
    neighbours
}

/// Radio links are symmetric in all presets, so a search from `dst` outwards finds the paths towards it.
fn breadth_first(neighbours: &Neighbours, dst: NodeId) -> Table {
    let mut hops: IdVec<NodeId, Option<u32>> = IdVec::filled(None, neighbours.len());
    hops[dst] = Some(0);
    let mut queue = VecDeque::from([dst]);
    while let Some(node) = queue.pop_front() {
        let next = hops[node].map(|count| count + 1);
        for &other in &neighbours[node] {
            if hops[other].is_none() && neighbours[other].contains(&node) {
                hops[other] = next;
                queue.push_back(other);
            }
        }
    }
    let nearer = |node: NodeId| {
        let own = hops[node]?;
        neighbours[node].iter().find(|&&other| hops[other].is_some_and(|count| count + 1 == own)).copied()
    };
    let next_hop = |node| if node == dst { dst } else { nearer(node).unwrap_or(NONE) };
    neighbours.ids().map(next_hop).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both_ways(pairs: &[(u32, u32)]) -> Vec<(NodeId, NodeId)> {
        pairs.iter().flat_map(|&(a, b)| [(NodeId(a), NodeId(b)), (NodeId(b), NodeId(a))]).collect()
    }

    #[test]
    fn the_shortest_way_wins_and_ties_go_to_the_lower_number() {
        // 0-1-3 and 0-2-3 are equally long
        let mut routes = Routes::new(5, both_ways(&[(0, 2), (0, 1), (1, 3), (2, 3)]).into_iter());
        let [n0, n1, n3, n4] = [0, 1, 3, 4].map(NodeId);
        assert_eq!(routes.path(n0, n3), [n0, n1, n3]);
        assert_eq!(routes.path(n3, n0), [n3, n1, n0]);
        assert_eq!(routes.next_hop(n0, n4), None);
        assert!(routes.path(n0, n4).is_empty());
    }
}
