//! The repository's own files in memory: those that git tracks or would track.

use std::path::Path;
use std::process::Command;

use crate::tools::Problem;

/// A file by its path from the root, with `/` on every system.
pub(super) struct File {
    pub(super) path: String,
    pub(super) text: String,
}

impl File {
    pub(super) fn has_extension(&self, extension: &str) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, found)| found == extension)
    }

    /// The file's name without folder and extension.
    pub(super) fn stem(&self) -> &str {
        let name = self.name();
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }

    pub(super) fn name(&self) -> &str {
        self.path.rsplit_once('/').map_or(self.path.as_str(), |(_, name)| name)
    }

    /// Returns whether the path begins with one of these files or folders.
    pub(super) fn lies_in(&self, places: &[&str]) -> bool {
        places.iter().any(|place| self.path.starts_with(place))
    }

    /// Lines with their numbers, from 1.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// All files.
pub(super) struct Tree {
    pub(super) files: Vec<File>,
    /// Paths of binary files, such as pictures.
    binaries: Vec<String>,
}

impl Tree {
    /// Reads the files that git tracks or would add. Without git, reads all files except build output.
    pub(super) fn read(root: &Path) -> Result<Self, Problem> {
        let mut paths = listed_by_git(root).unwrap_or_default();
        if paths.is_empty() {
            walk(root, "", &mut paths)
                .map_err(|error| Problem::failed(format!("failed to list the files: {error}")))?;
        }
        paths.sort();
        paths.dedup();
        let (mut files, mut binaries) = (Vec::new(), Vec::new());
        for path in paths {
            // A tracked file may have been deleted.
            let Ok(bytes) = std::fs::read(root.join(&path)) else {
                continue;
            };
            if bytes.contains(&0) {
                binaries.push(path);
            } else {
                files.push(File { path, text: String::from_utf8_lossy(&bytes).into_owned() });
            }
        }
        Ok(Self { files, binaries })
    }

    pub(super) fn get(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Returns whether a file, or a folder with files in it, exists.
    pub(super) fn contains(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        let mut paths = self.files.iter().map(|file| &file.path).chain(&self.binaries);
        paths.any(|known| known == path || known.starts_with(&folder))
    }

    /// Returns the Rust files, except the rules' own counterexamples.
    pub(super) fn rust(&self) -> impl Iterator<Item = &File> {
        let rust = self.files.iter().filter(|file| file.has_extension("rs"));
        rust.filter(|file| !file.path.starts_with(super::OURSELVES))
    }

    pub(super) fn with_extension(&self, extension: &str) -> impl Iterator<Item = &File> {
        self.files.iter().filter(move |file| file.has_extension(extension))
    }

    #[cfg(test)]
    pub(super) fn from_files(files: &[(&str, &str)]) -> Self {
        let file = |&(path, text): &(&str, &str)| File { path: path.into(), text: text.into() };
        Self { files: files.iter().map(file).collect(), binaries: Vec::new() }
    }
}

fn listed_by_git(root: &Path) -> Option<Vec<String>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").args(arguments).current_dir(root).output().ok()?;
    let listed = output.status.success().then_some(output.stdout)?;
    let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Some(paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
}

fn walk(root: &Path, folder: &str, paths: &mut Vec<String>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() && !matches!(name.as_str(), ".git" | "target" | "node_modules") {
            walk(root, &path, paths)?;
        } else if kind.is_file() {
            paths.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_exists_if_it_contains_a_file() {
        let tree = Tree::from_files(&[("crates/turno/src/lib.rs", "")]);
        assert!(tree.contains("crates/turno/") && tree.contains("crates/turno/src/lib.rs"));
        assert!(!tree.contains("crates/tur") && !tree.contains("crates/turno/src/lib"));
    }
}
