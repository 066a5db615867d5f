//! Who hears a station: its links, and of each what every frame asks for.
//!
//! A frame goes through the row of its sender. What it mostly needs of a link is half of it, and so is the memory that
//! rows of a large network take of the processor's caches.

use crate::agenda::Ns;
use crate::propagation::Link;

/// What a frame needs of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hearer {
    pub delay_ns: Ns,
    pub power_w: f64,
    pub loss: f64,
    pub to: u32,
    pub decodable: bool,
    /// The link has a draw of its own for each frame.
    pub fades: bool,
}

/// The links that leave one station, by receiver.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    links: Vec<Link>,
    hearers: Vec<Hearer>,
}

impl Row {
    pub fn new(links: Vec<Link>) -> Self {
        Row { hearers: links.iter().map(hearer).collect(), links }
    }

    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Lends the hearers, in the order of the links, until they are given back.
    #[inline]
    pub fn lend(&mut self) -> Vec<Hearer> {
        std::mem::take(&mut self.hearers)
    }

    #[inline]
    pub fn give_back(&mut self, hearers: Vec<Hearer>) {
        self.hearers = hearers;
    }

    /// Puts the link to `to` in its place, or takes it away.
    pub fn replace(&mut self, to: u32, link: Option<Link>) {
        replace_link(&mut self.links, to, link);
        self.hearers.clear();
        self.hearers.extend(self.links.iter().map(hearer));
    }
}

fn hearer(link: &Link) -> Hearer {
    let &Link { to, delay_ns, power_w, decodable, loss, fading } = link;
    Hearer { delay_ns, power_w, loss, to, decodable, fades: fading.is_some() }
}

/// Puts the link to `to` in its place, or takes it away.
pub(crate) fn replace_link(links: &mut Vec<Link>, to: u32, link: Option<Link>) {
    links.retain(|old| old.to != to);
    if let Some(link) = link {
        let place = links.partition_point(|other| other.to < to);
        links.insert(place, link);
    }
}
