//! TCP senders and AODV without a network around them: scripted losses, expected values by hand. Also segments that
//! hooks inject.

mod aodv_line;
mod aodv_of_2001;
mod injection;
mod selective;
mod tcp;
mod tcp_variants;
