//! TCP's sender and AODV without a network around them: scripted losses, expectations by hand.

mod aodv_line;
mod tcp_closing;
mod tcp_recovery;
mod tcp_rig;
mod tcp_timeout;
