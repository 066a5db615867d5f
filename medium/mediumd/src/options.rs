//! The command line.

use std::path::PathBuf;

/// What is printed for `--help`.
pub const USAGE: &str =
    "usage: mediumd --config FILE [--socket PATH] [--socket-group GROUP] [--die-with-parent] [--no-realtime] [--check]";

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // PROTOCOL.md documents the options
pub struct Options {
    pub config: PathBuf,
    pub socket: Option<PathBuf>,
    pub socket_group: Option<String>,
    pub die_with_parent: bool,
    pub realtime: bool,
    pub check: bool,
}

/// The command line as it was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Run.
    Run(Options),
    /// Print the usage.
    Help,
    /// Print the version.
    Version,
}

/// Reads the arguments after the program's name.
///
/// # Errors
/// One line that names the argument.
pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Command, String> {
    let (mut config, mut socket, mut socket_group) = (None, None, None);
    let (mut die_with_parent, mut realtime, mut check) = (false, true, false);
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument}: needs a value; {USAGE}"));
        match argument.as_str() {
            "--config" => config = Some(value()?.into()),
            "--socket" => socket = Some(value()?.into()),
            "--socket-group" => socket_group = Some(value()?),
            "--die-with-parent" => die_with_parent = true,
            "--no-realtime" => realtime = false,
            "--check" => check = true,
            "-h" | "--help" => return Ok(Command::Help),
            "--version" => return Ok(Command::Version),
            _ => return Err(format!("{argument}: no such option; {USAGE}")),
        }
    }
    let config = config.ok_or_else(|| format!("--config is missing; {USAGE}"))?;
    Ok(Command::Run(Options { config, socket, socket_group, die_with_parent, realtime, check }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(String::from))
    }

    #[test]
    fn options_are_read_and_others_refused() {
        let expected = Options {
            config: "air.json".into(),
            socket: Some("s".into()),
            socket_group: None,
            die_with_parent: true,
            realtime: false,
            check: false,
        };
        assert_eq!(read("--config air.json --socket s --die-with-parent --no-realtime"), Ok(Command::Run(expected)));
        assert_eq!(read("--help"), Ok(Command::Help));
        for (line, told) in
            [("", "--config is missing"), ("--config", "needs a value"), ("--confg x", "no such option")]
        {
            assert!(read(line).expect_err(line).contains(told));
        }
    }
}
