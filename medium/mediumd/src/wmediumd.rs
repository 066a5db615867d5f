//! wmediumd's place: its command line.

use std::path::PathBuf;

/// What is printed for `-h`.
pub const USAGE: &str = "usage: wmediumd [-h] [-V] [-l LEVEL] [-s] [-d] [-x FILE] -c FILE";

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Command {
    Run { config: PathBuf, serves: bool },
    Help,
    Version,
}

/// Reads the arguments after the program's name, as getopt("hVc:l:x:sd") does; and the two words that people try first.
///
/// # Errors
/// One line that names the argument.
pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Command, String> {
    let (mut config, mut serves, mut dynamic) = (None, false, false);
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--help" => return Ok(Command::Help),
            "--version" => return Ok(Command::Version),
            _ => {}
        }
        let Some(letters) = argument.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            return Err(format!("{argument}: no such option; {USAGE}"));
        };
        for (at, letter) in letters.char_indices() {
            match letter {
                'h' => return Ok(Command::Help),
                'V' => return Ok(Command::Version),
                's' => serves = true,
                'd' => dynamic = true,
                'c' | 'l' | 'x' => {
                    let rest = &letters[at + 1..];
                    let value = if rest.is_empty() { arguments.next() } else { Some(rest.into()) };
                    let value = value.ok_or_else(|| format!("-{letter}: needs a value; {USAGE}"))?;
                    if letter == 'c' {
                        config = Some(value.into());
                    }
                    break;
                }
                _ => return Err(format!("-{letter}: no such option; {USAGE}")),
            }
        }
    }
    let missing = if dynamic { "-d: no start without a file here: -c is missing" } else { "-c is missing" };
    Ok(Command::Run { config: config.ok_or_else(|| format!("{missing}; {USAGE}"))?, serves })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(String::from))
    }

    #[test]
    fn the_command_line_of_mininet_wifi_is_understood() {
        let run = |serves| Ok(Command::Run { config: "net.cfg".into(), serves });
        assert_eq!(read("-l 0 -s -c net.cfg -x tests/signal_table_ieee80211ax"), run(true));
        assert_eq!(read("-l0 -cnet.cfg"), run(false));
        assert_eq!(read("-sdc net.cfg"), run(true));
        assert_eq!((read("-h"), read("-V")), (Ok(Command::Help), Ok(Command::Version)));
        assert_eq!((read("--help"), read("--version")), (Ok(Command::Help), Ok(Command::Version)));
        for (line, told) in [
            ("", "-c is missing"),
            ("-s -d", "-d: no start without a file"),
            ("-c", "needs a value"),
            ("-z", "no such"),
            ("x", "no such"),
        ] {
            assert!(read(line).expect_err(line).contains(told));
        }
    }
}
