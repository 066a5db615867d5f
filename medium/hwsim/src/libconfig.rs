//! The part of libconfig's language that Mininet-WiFi and wmediumd's own examples use.
//!
//! Groups `{}`, lists `()`, arrays `[]`, strings, integers, floats, booleans; comments `#`, `//` and `/* */`.
//! Source: libconfig's manual, "Configuration Files". Deviates: no `@include`, no escapes but `\"` and `\\`.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// A setting's value.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Value {
    Group(BTreeMap<String, Value>),
    /// A list or an array.
    List(Vec<Value>),
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
}

impl Value {
    /// Reads a file. The error names the line.
    pub fn read(text: &str) -> Result<Value, String> {
        // Editors of Windows begin a file with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = Reader { text: text.as_bytes(), at: 0, depth: 0, open_comment: None };
        let group = reader.settings(None);
        match reader.open_comment {
            Some(start) => Err(reader.error(start, "a comment does not end; '*/' is missing")),
            None => group.map(Value::Group),
        }
    }

    /// The setting at a path such as "model.type".
    pub fn at(&self, path: &str) -> Option<&Value> {
        path.split('.').try_fold(self, |value, name| match value {
            Value::Group(settings) => settings.get(name),
            _ => None,
        })
    }

    /// A number. An integer is valid where a float is expected.
    pub fn number(&self) -> Option<f64> {
        match *self {
            Value::Integer(number) => Some(number as f64),
            Value::Float(number) => Some(number),
            _ => None,
        }
    }

    /// A string.
    pub fn text(&self) -> Option<&str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }

    /// The items of a list or array.
    pub fn items(&self) -> Option<&[Value]> {
        if let Value::List(items) = self { Some(items) } else { None }
    }

    /// A boolean. Numbers count as in C.
    pub fn truth(&self) -> Option<bool> {
        if let Value::Bool(truth) = *self { Some(truth) } else { self.number().map(|number| number != 0.0) }
    }
}

/// The notation of a file, for messages. A group is shown without its settings.
impl Display for Value {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Value::Group(_) => f.write_str("{...}"),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(Value::to_string).collect();
                write!(f, "({})", items.join(", "))
            }
            Value::Text(text) => write!(f, "{text:?}"),
            Value::Integer(number) => write!(f, "{number}"),
            Value::Float(number) => write!(f, "{number:?}"),
            Value::Bool(truth) => write!(f, "{truth}"),
        }
    }
}

/// Deeper nesting than this is refused.
const DEEPEST: u32 = 32;

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    depth: u32,
    /// Where a comment without an end starts.
    open_comment: Option<usize>,
}

impl Reader<'_> {
    fn fail<T>(&self, what: &str) -> Result<T, String> {
        Err(self.error(self.at, what))
    }

    fn error(&self, at: usize, what: &str) -> String {
        let line = 1 + self.text[..at.min(self.text.len())].iter().filter(|&&byte| byte == b'\n').count();
        format!("line {line}: {what}")
    }

    /// The next character, for messages.
    fn next(&self) -> String {
        let rest = String::from_utf8_lossy(self.text.get(self.at..).unwrap_or_default());
        rest.chars().next().map_or("the end of the file".into(), |next| format!("{next:?}"))
    }

    /// The next byte that is neither blank nor comment, not consumed.
    fn peek(&mut self) -> Option<u8> {
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let skip = match rest {
                [b' ' | b'\t' | b'\r' | b'\n' | 0x0c, ..] => 1,
                [b'#', ..] | [b'/', b'/', ..] => rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()),
                [b'/', b'*', ..] => {
                    let end = rest.windows(2).skip(2).position(|pair| pair == b"*/");
                    if end.is_none() {
                        self.open_comment = Some(self.at);
                    }
                    end.map_or(rest.len(), |i| i + 4)
                }
                _ => return rest.first().copied(),
            };
            self.at += skip;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn word(&mut self) -> &str {
        let start = self.at.min(self.text.len());
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-+.*".contains(byte);
        self.at += self.text[start..].iter().take_while(|byte| is_part(byte)).count();
        std::str::from_utf8(&self.text[start..self.at]).unwrap_or_default()
    }

    fn settings(&mut self, end: Option<u8>) -> Result<BTreeMap<String, Value>, String> {
        let mut settings = BTreeMap::new();
        while self.peek() != end {
            let name = self.word().to_owned();
            if name.is_empty() {
                return match self.peek() {
                    None => self.fail("the file ends inside a group; '}' is missing"),
                    Some(b'@') => self.fail("@include is not supported; write all settings into one file"),
                    _ => self.fail(&format!("expected a setting's name, not {}", self.next())),
                };
            }
            if !(self.take(b'=') || self.take(b':')) {
                return self.fail(&format!("expected '=' after {name:?}, not {}", self.next()));
            }
            let value = self.value()?;
            if settings.contains_key(&name) {
                return self.fail(&format!("{name:?} is given twice"));
            }
            settings.insert(name, value);
            let _ = self.take(b';') || self.take(b',');
        }
        self.at += usize::from(end.is_some());
        Ok(settings)
    }

    fn value(&mut self) -> Result<Value, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.fail("nested too deeply");
        }
        let value = match self.peek() {
            Some(b'{') => {
                self.at += 1;
                Value::Group(self.settings(Some(b'}'))?)
            }
            Some(b'(') => self.list(b')')?,
            Some(b'[') => self.list(b']')?,
            Some(b'"') => self.string()?,
            _ => self.scalar()?,
        };
        self.depth -= 1;
        Ok(value)
    }

    fn list(&mut self, end: u8) -> Result<Value, String> {
        self.at += 1;
        let mut items = Vec::new();
        while !self.take(end) {
            items.push(self.value()?);
            if !self.take(b',') && self.peek() != Some(end) {
                return self.fail(&format!("expected ',' or {:?}, not {}", char::from(end), self.next()));
            }
        }
        Ok(Value::List(items))
    }

    fn string(&mut self) -> Result<Value, String> {
        let mut bytes = Vec::new();
        let start = self.at;
        // Adjacent strings are one.
        while self.take(b'"') {
            loop {
                let Some(&byte) = self.text.get(self.at) else {
                    return Err(self.error(start, "a string does not end; '\"' is missing"));
                };
                self.at += 1;
                match byte {
                    b'"' => break,
                    b'\\' => match self.text.get(self.at) {
                        Some(&escaped @ (b'"' | b'\\')) => {
                            bytes.push(escaped);
                            self.at += 1;
                        }
                        _ => {
                            return self.fail(&format!(
                                "a string has '\\' before {}; write '\\\\' for a backslash",
                                self.next()
                            ));
                        }
                    },
                    _ => bytes.push(byte),
                }
            }
        }
        Ok(Value::Text(String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn scalar(&mut self) -> Result<Value, String> {
        let word = self.word().to_owned();
        let number = word.trim_end_matches('L');
        let value = match word.to_ascii_lowercase().as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            lower if lower.starts_with("0x") => i64::from_str_radix(&lower[2..], 16).ok().map(Value::Integer),
            _ => number.parse().ok().map(Value::Integer).or_else(|| finite(number).map(Value::Float)),
        };
        match value {
            Some(value) => Ok(value),
            None if word.is_empty() => self.fail(&format!("expected a value, not {}", self.next())),
            None => self.fail(&format!("expected a value, not {word:?}")),
        }
    }
}

fn finite(word: &str) -> Option<f64> {
    word.parse().ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn groups_lists_arrays_and_scalars_are_read() {
        let text = "a: { ids = [ \"x\", \"y\" ]; on = true; }; # comment\n\
                    b = ( (0, 1, 2.5), (-3, 1e2, 0x10) ); /* two\nlines */ c = \"one\" \"two\" // end";
        let read = Value::read(text).unwrap();
        assert_eq!(read.at("a.ids").unwrap().items().unwrap()[1].text(), Some("y"));
        assert_eq!(read.at("a.on").unwrap().truth(), Some(true));
        let rows = read.at("b").unwrap().items().unwrap();
        let numbers: Vec<_> = rows[1].items().unwrap().iter().map(|item| item.number().unwrap()).collect();
        assert_eq!(numbers, [-3.0, 100.0, 16.0]);
        assert_eq!(read.at("c").unwrap().text(), Some("onetwo"));
        assert_eq!(read.at("a.absent"), None);
    }

    #[test]
    fn files_of_windows_are_read() {
        let read = Value::read("\u{feff}a = 1;\r\nb = 2; # x\r\n").unwrap();
        assert_eq!((read.at("a"), read.at("b")), (Some(&Value::Integer(1)), Some(&Value::Integer(2))));
    }

    #[test]
    fn errors_name_the_line() {
        assert_eq!(Value::read("a = 1;\nb 2;").unwrap_err(), "line 2: expected '=' after \"b\", not '2'");
        assert_eq!(Value::read("a = ;").unwrap_err(), "line 1: expected a value, not ';'");
        assert_eq!(Value::read("a = (1").unwrap_err(), "line 1: expected ',' or ')', not the end of the file");
        for (text, said) in [
            ("a = 1;\nb = \"x\n;\n", "line 2: a string does not end; '\"' is missing"),
            ("a = 1;\nb = \"C:\\new\";\n", "line 2: a string has '\\' before 'n'; write '\\\\' for a backslash"),
            ("a = \"x\\", "line 1: a string has '\\' before the end of the file; write '\\\\' for a backslash"),
            ("a = 1; /* b = 2;\n", "line 1: a comment does not end; '*/' is missing"),
            ("a = {\n /* b = 2; }\n", "line 2: a comment does not end; '*/' is missing"),
            ("a = { b = 1;\n", "line 2: the file ends inside a group; '}' is missing"),
            ("a = 1;\n}", "line 2: expected a setting's name, not '}'"),
            ("{\"a\": 1}", "line 1: expected a setting's name, not '{'"),
            ("a = yes;", "line 1: expected a value, not \"yes\""),
            ("@include \"b.cfg\"", "line 1: @include is not supported; write all settings into one file"),
            ("\u{fffd}\u{fffd}\0", "line 1: expected a setting's name, not '\u{fffd}'"),
        ] {
            assert_eq!(Value::read(text).unwrap_err(), said);
        }
        assert!(Value::read(&"a = (".repeat(100)).is_err());
        assert!(Value::read(&format!("a = {}", "(".repeat(100))).unwrap_err().contains("too deeply"));
    }

    proptest! {
        #[test]
        fn anything_is_read_or_refused(text in "[a-c=:;,(){}\\[\\]\"0-9. \\n/*#\\\\]{0,80}") {
            let _ = Value::read(&text);
        }
    }
}
