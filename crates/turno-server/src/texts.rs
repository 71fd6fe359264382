//! The texts that people read, in the languages of `locales/`. Each language has the same messages.
//!
//! Codes stay English and never change. Only the edge (HTTP, console, command line) looks texts up in the reader's
//! language.

pub(crate) mod causes;
pub(crate) mod message;
pub(crate) mod terminal;

use std::borrow::Cow;

use fluent_bundle::concurrent::FluentBundle;
use fluent_bundle::{FluentArgs, FluentResource};
use turno::core::time::Span;
use unic_langid::LanguageIdentifier;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Spanish,
    English,
}

impl Language {
    /// Returns the language with the higher weight in an `Accept-Language` header, or else `default`. Entries that cannot
    /// be parsed are ignored.
    pub(crate) fn preferred(header: &str, default: Self) -> Self {
        let weight = |wanted: &str| {
            let entries = header.split(',').filter_map(|entry| {
                let (tag, parameters) = entry.split_once(';').unwrap_or((entry, ""));
                let language = tag.trim().split('-').next().unwrap_or_default();
                let quality =
                    parameters.trim().strip_prefix("q=").map_or(Some(1.0), |q| q.trim().parse::<f32>().ok())?;
                language.eq_ignore_ascii_case(wanted).then_some(quality)
            });
            entries.fold(0.0, f32::max)
        };
        match (weight("es"), weight("en")) {
            (spanish, english) if english > spanish => Self::English,
            (spanish, english) if spanish > english => Self::Spanish,
            _ => default,
        }
    }

    /// Returns the tag for `lang` and `Content-Language`.
    pub(crate) fn tag(self) -> &'static str {
        match self {
            Self::Spanish => "es",
            Self::English => "en",
        }
    }
}

/// The messages of both languages.
pub(crate) struct Texts {
    spanish: FluentBundle<FluentResource>,
    english: FluentBundle<FluentResource>,
}

impl std::fmt::Debug for Texts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Texts")
    }
}

/// The files of a language. English help and examples are in the definition of the command line instead.
struct Files {
    /// Messages that the server and the command line use: names, causes, the configuration.
    shared: &'static [&'static str],
    /// Messages of the console.
    server: &'static [&'static str],
    /// Messages of the command line.
    terminal: &'static [&'static str],
}

const SPANISH: Files = Files {
    shared: &[
        include_str!("../locales/es.ftl"),
        include_str!("../locales/errors.es.ftl"),
        include_str!("../locales/config.es.ftl"),
    ],
    server: &[
        include_str!("../locales/console.es.ftl"),
        include_str!("../locales/tasks.es.ftl"),
        include_str!("../locales/sync.es.ftl"),
    ],
    terminal: &[
        include_str!("../locales/cli.es.ftl"),
        include_str!("../locales/help.es.ftl"),
        include_str!("../locales/examples.es.ftl"),
    ],
};
const ENGLISH: Files = Files {
    shared: &[
        include_str!("../locales/en.ftl"),
        include_str!("../locales/errors.en.ftl"),
        include_str!("../locales/config.en.ftl"),
    ],
    server: &[
        include_str!("../locales/console.en.ftl"),
        include_str!("../locales/tasks.en.ftl"),
        include_str!("../locales/sync.en.ftl"),
    ],
    terminal: &[include_str!("../locales/cli.en.ftl")],
};

impl Texts {
    /// Loads the messages of a server, in both languages.
    pub(crate) fn load() -> Texts {
        let of = |files: &Files| [files.shared, files.server].concat();
        Texts { spanish: bundle("es", &of(&SPANISH)), english: bundle("en", &of(&ENGLISH)) }
    }

    /// Loads the messages of the command line, in one language. The other one stays empty.
    pub(crate) fn load_terminal(language: Language) -> Texts {
        let of = |one: Language, files: &Files| match one == language {
            true => [files.shared, files.terminal].concat(),
            false => Vec::new(),
        };
        let spanish = bundle("es", &of(Language::Spanish, &SPANISH));
        Texts { spanish, english: bundle("en", &of(Language::English, &ENGLISH)) }
    }

    fn bundle(&self, language: Language) -> &FluentBundle<FluentResource> {
        match language {
            Language::Spanish => &self.spanish,
            Language::English => &self.english,
        }
    }

    /// Returns the message `id`, or `None` if it does not exist.
    pub(crate) fn find<'a>(&'a self, language: Language, id: &str, args: &'a FluentArgs<'a>) -> Option<Cow<'a, str>> {
        let bundle = self.bundle(language);
        let (message, attribute) = id.split_once('.').map_or((id, None), |(message, name)| (message, Some(name)));
        let message = bundle.get_message(message)?;
        let pattern = match attribute {
            Some(name) => message.get_attribute(name)?.value(),
            None => message.value()?,
        };
        // Fluent renders a missing argument as its name in braces, which is better than no text.
        Some(bundle.format_pattern(pattern, Some(args), &mut Vec::new()))
    }

    /// Renders a span with one number and one unit.
    pub(crate) fn span(&self, language: Language, span: Span) -> String {
        let seconds = (span.0 + 500) / 1_000;
        let (id, count) = match seconds {
            ..1 => ("span-moment", 0),
            1..90 => ("span-seconds", seconds),
            90..5_400 => ("span-minutes", (seconds + 30) / 60),
            5_400..129_600 => ("span-hours", (seconds + 1_800) / 3_600),
            _ => ("span-days", (seconds + 43_200) / 86_400),
        };
        let mut args = FluentArgs::new();
        args.set("count", count);
        self.find(language, id, &args).map(Cow::into_owned).unwrap_or_default()
    }

    /// Renders the name of a permission for people. Falls back to the name that programs use.
    pub(crate) fn permission(&self, language: Language, name: &str) -> String {
        let id = format!("permission-{}", name.replace('.', "_"));
        self.find(language, &id, &FluentArgs::new()).map_or_else(|| name.to_owned(), Cow::into_owned)
    }
}

fn bundle(language: &str, sources: &[&str]) -> FluentBundle<FluentResource> {
    let mut bundle = FluentBundle::new_concurrent(language.parse::<LanguageIdentifier>().into_iter().collect());
    bundle.set_use_isolating(false);
    for source in sources {
        // A test reads every file. In production an invalid line must not remove the other messages.
        let resource = FluentResource::try_new((*source).to_owned()).unwrap_or_else(|(partial, _)| partial);
        drop(bundle.add_resource(resource));
    }
    bundle
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Returns the names of messages and attributes, with the arguments that each uses.
    fn shape(source: &str) -> BTreeMap<String, Vec<String>> {
        let mut shape = BTreeMap::new();
        let mut message = String::new();
        for line in source.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            let trimmed = line.trim_start();
            let name = trimmed.split_once('=').map(|(name, _)| name.trim());
            let id = match (line.starts_with(' '), trimmed.starts_with('.'), name) {
                (false, _, Some(name)) => {
                    message = name.to_owned();
                    name.to_owned()
                }
                (true, true, Some(name)) => format!("{message}{name}"),
                _ => message.clone(),
            };
            let args: &mut Vec<String> = shape.entry(id).or_default();
            args.extend(line.split("{ $").skip(1).filter_map(|rest| rest.split([' ', '}']).next()).map(str::to_owned));
            args.sort();
            args.dedup();
        }
        shape
    }

    /// Returns the English files.
    pub(crate) fn english() -> Vec<&'static str> {
        all(&ENGLISH)
    }

    /// Returns the arguments of each message, with those of its attributes. Help is in Spanish only.
    pub(crate) fn known_shape() -> BTreeMap<String, Vec<String>> {
        let mut whole: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (id, args) in all(&ENGLISH).into_iter().chain(SPANISH.terminal.iter().copied()).flat_map(shape) {
            let id = id.split('.').next().unwrap_or_default().to_owned();
            whole.entry(id).or_default().extend(args);
        }
        whole
    }

    /// Returns the Rust files below a folder.
    pub(crate) fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
        let entries =
            std::fs::read_dir(folder).expect("the folder is readable").map(|entry| entry.expect("an entry").path());
        let below = |path: std::path::PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
        entries.flat_map(below).filter(|path| path.extension().is_some_and(|end| end == "rs")).collect()
    }

    fn all(files: &Files) -> Vec<&'static str> {
        [files.shared, files.server, files.terminal].concat()
    }

    #[test]
    fn both_languages_have_the_same_messages_with_the_same_arguments() {
        for (spanish, english) in all(&SPANISH).iter().zip(all(&ENGLISH)) {
            assert_eq!(shape(spanish), shape(english));
        }
    }

    /// Messages that are the same in both languages.
    const SAME: [&str; 9] = [
        "admin-tokens",
        "answer-no",
        "check-token",
        "event-fence",
        "fence",
        "no",
        "from-demo",
        "from-preset",
        "token-id",
    ];

    #[test]
    fn no_text_is_the_same_in_both_languages() {
        let lines = |sources: &[&'static str]| {
            let lines = sources.iter().copied().flat_map(str::lines).filter(|line| line.contains(" = "));
            lines
                .filter(|line| !line.starts_with("seed-") && !line.ends_with("->"))
                .collect::<std::collections::BTreeSet<_>>()
        };
        let (spanish, english) = (lines(&all(&SPANISH)), lines(&all(&ENGLISH)));
        let same = spanish.intersection(&english).filter(|line| {
            let (name, text) = line.split_once(" = ").unwrap_or_default();
            let bare: String =
                text.split("{ ").map(|part| part.split_once(" }").map_or(part, |(_, rest)| rest)).collect();
            bare.chars().any(char::is_alphabetic) && !SAME.contains(&name.trim())
        });
        assert_eq!(same.collect::<Vec<_>>(), Vec::<&&str>::new());
    }

    #[test]
    fn every_locale_file_is_valid_fluent() {
        for source in all(&SPANISH).iter().chain(&all(&ENGLISH)) {
            assert!(FluentResource::try_new((*source).to_owned()).is_ok());
        }
    }

    #[test]
    fn the_language_with_the_higher_weight_is_chosen_and_otherwise_the_default() {
        for default in [Language::Spanish, Language::English] {
            for neither in ["", "de", "*", "en;q=x", "en;q=0", "en;q=NaN", "en, es"] {
                assert_eq!(Language::preferred(neither, default), default, "{neither}");
            }
            for spanish in ["es-AR,es;q=0.9,en;q=0.8", "en;q=0.5, es"] {
                assert_eq!(Language::preferred(spanish, default), Language::Spanish, "{spanish}");
            }
            for english in ["en", "EN-gb", "de, en;q=0.7", "es;q=0.2,en-US;q=0.3"] {
                assert_eq!(Language::preferred(english, default), Language::English, "{english}");
            }
        }
    }
}
