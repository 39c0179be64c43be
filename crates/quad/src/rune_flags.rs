//! `quad refrakt inspect hint --type=warning`: flags that are attributes of the rune.
//!
//! The attributes depend on the rune, so clap cannot declare them. A flag that `inspect` does not have becomes
//! `--attribute NAME=VALUE` before clap parses the command line. An attribute with the name of a flag has to be given
//! in that form.

use std::collections::HashMap;
use std::ffi::OsString;

use clap::CommandFactory as _;

use crate::cli::Cli;

const INSPECT: [&str; 2] = ["refrakt", "inspect"];

/// Rewrites the arguments of `quad refrakt inspect`; other command lines stay unchanged.
pub fn rewrite_args(arguments: Vec<OsString>) -> Vec<OsString> {
    let flags = known_flags();
    let mut matched_words = 0;
    let mut rewritten = Vec::with_capacity(arguments.len());
    let mut rest = arguments.into_iter().peekable();
    rewritten.extend(rest.next());
    while let Some(argument) = rest.next() {
        let flag = argument.to_str().and_then(|text| text.strip_prefix("--")).map(str::to_owned);
        let Some(flag) = flag.filter(|flag| !flag.is_empty()) else {
            if matched_words < INSPECT.len() && argument.to_str() != Some(INSPECT[matched_words]) {
                rewritten.push(argument);
                rewritten.extend(rest);
                return rewritten;
            }
            matched_words = (matched_words + 1).min(INSPECT.len());
            rewritten.push(argument);
            continue;
        };
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (flag.as_str(), None),
        };
        match flags.get(name) {
            Some(takes_value) => {
                rewritten.push(argument);
                if *takes_value && value.is_none() {
                    rewritten.extend(rest.next());
                }
            }
            None if matched_words == INSPECT.len() => {
                let next = || rest.next_if(|next| !next.to_string_lossy().starts_with("--"));
                let value = value.map(OsString::from).or_else(next).unwrap_or_else(|| "true".into());
                let mut attribute = OsString::from(format!("{name}="));
                attribute.push(value);
                rewritten.extend(["--attribute".into(), attribute]);
            }
            None => rewritten.push(argument),
        }
    }
    rewritten
}

/// The flags of `inspect`, including the common ones, and whether each takes a value.
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

    fn check(input: &str, expect: &str) {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(rewrite_args(words(input)), words(expect));
    }

    #[test]
    fn unknown_inspect_flags_become_attributes() {
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
    fn other_commands_are_unchanged() {
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
