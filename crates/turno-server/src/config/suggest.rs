//! Suggests the word that a misspelt word probably stands for.

/// The maximum length of a word. A longer word is no misspelt key, and comparing it takes time.
const WORD_MAX: usize = 100;

/// Returns the candidate nearest to `word`, or `None` if none is similar enough.
pub(crate) fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let typed: Vec<char> = word.to_lowercase().chars().take(WORD_MAX).collect();
    let near = |candidate: &&'a str| {
        let letters: Vec<char> = candidate.chars().collect();
        let apart = distance(&typed, &letters);
        // A third of the letters may be wrong, or one word may be the beginning of the other.
        let guessed = apart <= letters.len().max(typed.len()) / 3 || starts_alike(&typed, &letters);
        guessed.then_some((apart, *candidate))
    };
    candidates.iter().filter_map(near).min_by_key(|(apart, _)| *apart).map(|(_, candidate)| candidate)
}

/// Returns whether one word begins with the other: `ttl` and `ttl_ms`, `environment` and `env`.
fn starts_alike(one: &[char], other: &[char]) -> bool {
    one.len().min(other.len()) >= 3 && (one.starts_with(other) || other.starts_with(one))
}

/// Returns how many letters must be changed, added, removed or swapped with their neighbour.
fn distance(from: &[char], to: &[char]) -> usize {
    let mut rows = vec![(0..=to.len()).collect::<Vec<usize>>()];
    for i in 1..=from.len() {
        let mut row = vec![i];
        for j in 1..=to.len() {
            let changed = rows[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
            let mut best = changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &[&str] = &["ttl_ms", "max_ttl_ms", "idle_guard_ms", "listen", "env"];

    #[test]
    fn a_misspelt_key_is_suggested() {
        let meant = [
            ("ttl", "ttl_ms"),
            ("tll_ms", "ttl_ms"),
            ("idle_gard_ms", "idle_guard_ms"),
            ("Listen", "listen"),
            ("environment", "env"),
            ("max_ttl", "max_ttl_ms"),
        ];
        for (typed, key) in meant {
            assert_eq!(nearest(typed, KEYS), Some(key), "{typed}");
        }
    }

    #[test]
    fn a_word_without_a_similar_key_gets_no_suggestion() {
        for typed in ["", "colour", "x", "ñandú", &"t".repeat(5_000)] {
            assert_eq!(nearest(typed, KEYS), None, "{typed}");
        }
    }
}
