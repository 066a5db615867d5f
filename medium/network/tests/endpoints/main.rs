//! TCP senders and AODV without a network around them: scripted losses, expected values by hand. Also segments that
//! hooks inject.

mod aodv_line;
mod injection;
mod tcp;
mod tcp_variants;
