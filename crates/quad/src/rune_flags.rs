//! `quad refrakt inspect hint --type=warning`: flags that are attributes of the rune.
//!
//! Which attributes there are only the rune knows, so they cannot be declared; whatever `inspect` does not know as a flag of its
//! own becomes `--attribute NAME=VALUE` before the command line is read. An attribute that is called like a flag is given in
//! that form.

use std::collections::HashMap;
use std::ffi::OsString;

use clap::CommandFactory as _;

use crate::cli::Cli;

const INSPECT: [&str; 2] = ["refrakt", "inspect"];

/// The command line with the rune's attributes spelt out. Any other command line is given back as it was.
pub fn spelt(arguments: Vec<OsString>) -> Vec<OsString> {
    let known = known_flags();
    let mut words = 0;
    let mut spelt = Vec::with_capacity(arguments.len());
    let mut rest = arguments.into_iter().peekable();
    spelt.extend(rest.next());
    while let Some(argument) = rest.next() {
        let flag = argument.to_str().and_then(|text| text.strip_prefix("--")).map(str::to_owned);
        let Some(flag) = flag.filter(|flag| !flag.is_empty()) else {
            if words < INSPECT.len() && argument.to_str() != Some(INSPECT[words]) {
                spelt.push(argument);
                spelt.extend(rest);
                return spelt;
            }
            words = (words + 1).min(INSPECT.len());
            spelt.push(argument);
            continue;
        };
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (flag.as_str(), None),
        };
        match known.get(name) {
            Some(takes_value) => {
                spelt.push(argument);
                if *takes_value && value.is_none() {
                    spelt.extend(rest.next());
                }
            }
            None if words == INSPECT.len() => {
                let next = || rest.next_if(|next| !next.to_string_lossy().starts_with("--"));
                let value = value.map(OsString::from).or_else(next).unwrap_or_else(|| "true".into());
                let mut pair = OsString::from(format!("{name}="));
                pair.push(value);
                spelt.extend(["--attribute".into(), pair]);
            }
            None => spelt.push(argument),
        }
    }
    spelt
}

/// The flags that `inspect` has, those of every command included, and whether each takes a value.
fn known_flags() -> HashMap<String, bool> {
    let mut command = Cli::command();
    command.build();
    let inspect = INSPECT.iter().try_fold(&command, |command, name| command.find_subcommand(name));
    let flags = inspect.into_iter().flat_map(clap::Command::get_arguments);
    flags.filter_map(|flag| Some((flag.get_long()?.to_owned(), flag.get_action().takes_values()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(given: &str, expect: &str) {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(spelt(words(given)), words(expect));
    }

    #[test]
    fn unknown_flags_of_inspect_are_attributes() {
        check(
            "quad refrakt inspect hint --type=warning --json",
            "quad refrakt inspect hint --attribute type=warning --json",
        );
        check(
            "quad --data-dir d refrakt inspect card --media-position cover --site main --lead",
            "quad --data-dir d refrakt inspect card --attribute media-position=cover --site main --attribute lead=true",
        );
        check(
            "quad refrakt inspect nav --attribute project=x",
            "quad refrakt inspect nav --attribute project=x",
        );
        check("quad refrakt inspect api --path=a=b", "quad refrakt inspect api --attribute path=a=b");
    }

    #[test]
    fn other_commands_stay_as_they_are() {
        for line in [
            "quad",
            "quad refrakt render - --plugins all",
            "quad read refrakt inspect --type=x",
            "quad call x --y",
        ] {
            check(line, line);
        }
    }
}
