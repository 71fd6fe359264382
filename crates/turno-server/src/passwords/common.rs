//! Passwords that guessers try first: well-known ones, and those that a simple rule produces.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Well-known passwords and the words that they are made of, in lower case.
static KNOWN: LazyLock<HashSet<&str>> = LazyLock::new(|| include_str!("common.txt").split_whitespace().collect());

/// Keys beside each other, and letters and digits in order.
const ROWS: [&str; 4] =
    ["01234567890", "abcdefghijklmnopqrstuvwxyz", "qwertyuiopasdfghjklñzxcvbnm", "qwertzuiopasdfghjklyxcvbnm"];
/// The longest ending of digits and marks that does not make a known word a good password, as in `welcome2026!`.
const ENDING_MAX: usize = 5;
/// The longest part whose repetition is easy to guess, as in `testtest`.
const PART_MAX: usize = 4;

/// Returns whether a guesser would try the password early. `about` has words about the person: the id and the name.
pub(super) fn is_common(password: &str, about: &[&str]) -> bool {
    let password = password.to_lowercase();
    let word = without_ending(&password);
    let is_known = |text: &str| KNOWN.contains(text) || about.iter().any(|about| about.to_lowercase() == text);
    is_known(&password) || is_known(word) || is_repeated(&password) || is_row(&password)
}

/// Removes digits and marks at the end, if there are few of them.
fn without_ending(password: &str) -> &str {
    let word = password.trim_end_matches(|c: char| !c.is_alphabetic());
    let ending = password[word.len()..].chars().count();
    if ending <= ENDING_MAX { word } else { password }
}

/// Returns whether the password is a short part again and again.
fn is_repeated(password: &str) -> bool {
    let chars: Vec<char> = password.chars().collect();
    (1..=PART_MAX.min(chars.len() / 2)).any(|part| chars.iter().zip(&chars[part..]).all(|(a, b)| a == b))
}

/// Returns whether the password is a part of a row, forwards or backwards.
fn is_row(password: &str) -> bool {
    let reversed: String = password.chars().rev().collect();
    ROWS.iter().any(|row| row.contains(password) || row.contains(&reversed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn easy_passwords_are_found() {
        for password in [
            "password",
            "Password",
            "12345678",
            "87654321",
            "123456789",
            "qwertyui",
            "PASSWORD1",
            "welcome2026!",
            "contraseña",
            "aaaaaaaa",
            "abababab",
            "testtest",
            "abcdefgh",
            "hgfedcba",
            "iloveyou",
            "rosa.vidal",
            "Rosa Vidal",
            "rosa.vidal1",
        ] {
            assert!(is_common(password, &["rosa.vidal", "Rosa Vidal"]), "{password}");
        }
    }

    #[test]
    fn other_passwords_are_not_found() {
        for password in [
            "una clave larga",
            "correcto caballo",
            "p4ssw0rd-in-clear",
            "sunshine-837261",
            "rosa tiene 3 gatos",
            "x7#kQ!2m",
        ] {
            assert!(!is_common(password, &["rosa", "Rosa Vidal", ""]), "{password}");
        }
    }

    #[test]
    fn the_list_has_a_few_hundred_words_in_lower_case() {
        assert!(KNOWN.len() > 400, "{}", KNOWN.len());
        assert!(KNOWN.iter().all(|word| *word == word.to_lowercase()));
    }
}
