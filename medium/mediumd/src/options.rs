//! The command lines of mediumd and, if mediumd acts as wmediumd, of wmediumd.

use std::path::PathBuf;

/// Output of `mediumd --help`.
pub const USAGE: &str =
    "usage: mediumd --config FILE [--socket PATH] [--socket-group GROUP] [--die-with-parent] [--no-realtime] [--check]";

/// Options of mediumd.
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

/// A parsed command line.
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

/// Output of `wmediumd -h`.
pub const WMEDIUMD_USAGE: &str =
    "usage: wmediumd [-h] [-V] [-l LEVEL] [-s] [-d] [-x FILE] [-p FILE] (-c FILE | --check FILE | --status [--json])";

/// wmediumd's log level without `-l`, and its highest level.
const LOG_LEVEL: u8 = 6;
const LOG_LEVEL_MAX: u8 = 7;

/// A parsed command line of wmediumd.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum WmediumdCommand {
    Run {
        config: PathBuf,
        serves: bool,
        log_level: u8,
        capture: Option<PathBuf>,
    },
    /// Read the file and end.
    Check(PathBuf),
    /// Print the status of the programs that run.
    Status {
        json: bool,
    },
    Help,
    Version,
}

/// Parses wmediumd's arguments after the program's name like getopt("hVc:l:x:sdp:"). Also accepts `--help`,
/// `--version`, `--check FILE` and `--status [--json]`. The other options of Copeland's wmediumd are refused with the
/// reason.
///
/// # Errors
/// One line that names the argument.
pub fn parse_wmediumd(arguments: impl IntoIterator<Item = String>) -> Result<WmediumdCommand, String> {
    let (mut config, mut serves, mut dynamic, mut log_level) = (None, false, false, LOG_LEVEL);
    let mut capture = None;
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--help" => return Ok(WmediumdCommand::Help),
            "--version" => return Ok(WmediumdCommand::Version),
            "--check" => {
                let file = arguments.next().ok_or_else(|| format!("--check: needs a value; {WMEDIUMD_USAGE}"))?;
                return match arguments.next() {
                    None => Ok(WmediumdCommand::Check(file.into())),
                    Some(other) => Err(format!("--check: takes one file; {other:?} follows it; {WMEDIUMD_USAGE}")),
                };
            }
            "--status" => {
                let json = arguments.next();
                return match json.as_deref() {
                    None | Some("--json") => Ok(WmediumdCommand::Status { json: json.is_some() }),
                    Some(other) => Err(format!("--status: takes only --json, not {other:?}; {WMEDIUMD_USAGE}")),
                };
            }
            _ => {}
        }
        let Some(letters) =
            argument.strip_prefix('-').filter(|letters| !letters.is_empty() && !letters.starts_with('-'))
        else {
            return Err(format!("{argument}: no such option; {WMEDIUMD_USAGE}"));
        };
        for (at, letter) in letters.char_indices() {
            match letter {
                'h' => return Ok(WmediumdCommand::Help),
                'V' => return Ok(WmediumdCommand::Version),
                's' => serves = true,
                'd' => dynamic = true,
                'c' | 'l' | 'x' | 'p' => {
                    let rest = &letters[at + 1..];
                    let value = if rest.is_empty() { arguments.next() } else { Some(rest.into()) };
                    let value = value.ok_or_else(|| format!("-{letter}: needs a value; {WMEDIUMD_USAGE}"))?;
                    if letter == 'c' {
                        config = Some(value.into());
                    } else if letter == 'p' {
                        capture = Some(value.into());
                    } else if letter == 'l' {
                        let valid = value.parse().ok().filter(|level| *level <= LOG_LEVEL_MAX);
                        log_level =
                            valid.ok_or_else(|| format!("-l: must be from 0 to {LOG_LEVEL_MAX}, not {value:?}"))?;
                    }
                    break;
                }
                't' | 'u' | 'a' | 'n' => {
                    return Err(format!(
                        "-{letter}: this wmediumd takes frames only from mac80211_hwsim, in real time"
                    ));
                }
                _ => return Err(format!("-{letter}: no such option; {WMEDIUMD_USAGE}")),
            }
        }
    }
    let missing = if dynamic { "-d: no start without a file here: -c is missing" } else { "-c is missing" };
    let config = config.ok_or_else(|| format!("{missing}; {WMEDIUMD_USAGE}"))?;
    Ok(WmediumdCommand::Run { config, serves, log_level, capture })
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
        for (line, reported) in
            [("", "--config is missing"), ("--config", "needs a value"), ("--confg x", "no such option")]
        {
            assert!(read(line).expect_err(line).contains(reported));
        }
    }

    fn read_wmediumd(line: &str) -> Result<WmediumdCommand, String> {
        parse_wmediumd(line.split_whitespace().map(String::from))
    }

    #[test]
    fn the_command_line_of_mininet_wifi_is_understood() {
        let run =
            |serves, log_level| Ok(WmediumdCommand::Run { config: "net.cfg".into(), serves, log_level, capture: None });
        let captured = Some("air.pcapng".into());
        assert_eq!(
            read_wmediumd("-c net.cfg -p air.pcapng"),
            Ok(WmediumdCommand::Run { config: "net.cfg".into(), serves: false, log_level: 6, capture: captured })
        );
        assert_eq!(read_wmediumd("-l 0 -s -c net.cfg -x tests/signal_table_ieee80211ax"), run(true, 0));
        assert_eq!(read_wmediumd("-l0 -cnet.cfg"), run(false, 0));
        assert_eq!(read_wmediumd("-sdc net.cfg"), run(true, 6));
        assert_eq!(read_wmediumd("--check net.cfg"), Ok(WmediumdCommand::Check("net.cfg".into())));
        assert_eq!(
            (read_wmediumd("-h"), read_wmediumd("-V")),
            (Ok(WmediumdCommand::Help), Ok(WmediumdCommand::Version))
        );
        assert_eq!(
            (read_wmediumd("--help"), read_wmediumd("--version")),
            (Ok(WmediumdCommand::Help), Ok(WmediumdCommand::Version))
        );
        assert_eq!(
            (read_wmediumd("--status"), read_wmediumd("--status --json")),
            (Ok(WmediumdCommand::Status { json: false }), Ok(WmediumdCommand::Status { json: true }))
        );
        for (line, reported) in [
            ("", "-c is missing"),
            ("--status net.cfg", "--status: takes only --json"),
            ("-s -d", "-d: no start without a file"),
            ("-c", "needs a value"),
            ("-z", "no such"),
            ("-l 8 -c net.cfg", "must be from 0 to 7, not \"8\""),
            ("-c net.cfg -p", "-p: needs a value"),
            ("-u socket -c net.cfg", "-u: this wmediumd takes frames only from mac80211_hwsim"),
            ("--check", "needs a value"),
            ("--check a.cfg b.cfg", "--check: takes one file; \"b.cfg\" follows it"),
            ("--chekc a.cfg", "--chekc: no such option"),
            ("x", "no such"),
        ] {
            assert!(read_wmediumd(line).expect_err(line).contains(reported));
        }
    }
}
