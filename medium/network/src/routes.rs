//! Static routes: fewest hops over decodable radio links and wires, ties to the lower node number.

use std::collections::VecDeque;

/// For each node: the next hop towards some destination, or `NONE`.
type Table = Vec<u32>;

const NONE: u32 = u32::MAX;

/// Next hops of every node towards every node that was asked for.
#[derive(Clone, Debug)]
pub struct Routes {
    /// Neighbours of each node in ascending order.
    neighbours: Vec<Vec<u32>>,
    /// towards[dst][node], computed when first asked for.
    towards: Vec<Option<Table>>,
}

impl Routes {
    /// `edges` are directed.
    pub fn new(nodes: usize, edges: impl Iterator<Item = (u32, u32)>) -> Self {
        Routes { neighbours: neighbours(nodes, edges), towards: vec![None; nodes] }
    }

    /// These edges are not the ones that the routes were made from.
    pub fn edges_differ(&self, edges: &[(u32, u32)]) -> bool {
        neighbours(self.neighbours.len(), edges.iter().copied()) != self.neighbours
    }

    /// The next hop from `node` to `dst`, or None where there is no way.
    pub fn next_hop(&mut self, node: u32, dst: u32) -> Option<u32> {
        Some(self.table(dst)[node as usize]).filter(|&next| next != NONE)
    }

    /// The nodes on the way from `node` to `dst`, both included; empty where there is no way.
    pub fn path(&mut self, node: u32, dst: u32) -> Vec<u32> {
        let mut path = vec![node];
        let mut here = node;
        while here != dst {
            let Some(next) = self.next_hop(here, dst) else { return Vec::new() };
            path.push(next);
            here = next;
        }
        path
    }

    fn table(&mut self, dst: u32) -> &[u32] {
        let neighbours = &self.neighbours;
        self.towards[dst as usize].get_or_insert_with(|| breadth_first(neighbours, dst))
    }
}

/// Neighbours of each node in ascending order.
fn neighbours(nodes: usize, edges: impl Iterator<Item = (u32, u32)>) -> Vec<Vec<u32>> {
    let mut neighbours = vec![Vec::new(); nodes];
    for (from, to) in edges {
        neighbours[from as usize].push(to);
    }
    for list in &mut neighbours {
        list.sort_unstable();
        list.dedup();
    }
    neighbours
}

/// Radio links are symmetric in all presets, so searching outwards from `dst` finds the ways towards it.
fn breadth_first(neighbours: &[Vec<u32>], dst: u32) -> Table {
    let mut hops: Vec<Option<u32>> = vec![None; neighbours.len()];
    hops[dst as usize] = Some(0);
    let mut queue = VecDeque::from([dst]);
    while let Some(node) = queue.pop_front() {
        let next = hops[node as usize].map(|count| count + 1);
        for &other in &neighbours[node as usize] {
            if hops[other as usize].is_none() && neighbours[other as usize].contains(&node) {
                hops[other as usize] = next;
                queue.push_back(other);
            }
        }
    }
    let nearer = |node: usize| {
        let own = hops[node]?;
        neighbours[node].iter().find(|&&other| hops[other as usize].is_some_and(|count| count + 1 == own)).copied()
    };
    let next_hop = |node| if node == dst as usize { dst } else { nearer(node).unwrap_or(NONE) };
    (0..neighbours.len()).map(next_hop).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both_ways(pairs: &[(u32, u32)]) -> Vec<(u32, u32)> {
        pairs.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect()
    }

    #[test]
    fn the_shortest_way_wins_and_ties_go_to_the_lower_number() {
        // 0-1-3 and 0-2-3 are equally long
        let mut routes = Routes::new(5, both_ways(&[(0, 2), (0, 1), (1, 3), (2, 3)]).into_iter());
        assert_eq!(routes.path(0, 3), [0, 1, 3]);
        assert_eq!(routes.path(3, 0), [3, 1, 0]);
        assert_eq!(routes.next_hop(0, 4), None);
        assert!(routes.path(0, 4).is_empty());
    }
}
