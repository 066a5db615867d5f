//! Those who ask and listen: the Unix sockets of mediumd and of wmediumd.

pub mod connection;
pub mod report;
pub mod request;
pub mod server;
pub mod socket_file;
pub mod wmediumd_server;
