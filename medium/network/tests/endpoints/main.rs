//! TCP's sender and AODV without a network around them: scripted losses, expectations by hand. And a hook's injections.

mod aodv_line;
mod injection;
mod tcp;
