//! The temporary folder of a demo: private, deleted at the end, and recognised by a later demo if its own was killed.

use std::fs::{DirBuilder, File};
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, io_cause};
use crate::texts::message::Message;

/// How the names of the folders begin.
const PREFIX: &str = "turno-demo-";
/// The file that a demo keeps locked while it runs. The system unlocks it when the process ends, however that happens.
const LOCK: &str = "running";

/// A folder that is deleted when the demo ends.
#[derive(Debug)]
pub(crate) struct TemporaryFolder {
    path: PathBuf,
    /// Locked as long as the demo runs.
    _running: File,
}

impl TemporaryFolder {
    /// Creates a new folder that only this user can enter. Deletes the folders of demos that were killed.
    pub(crate) fn create() -> Result<Self, Failure> {
        Self::create_in(&std::env::temp_dir())
    }

    fn create_in(parent: &Path) -> Result<Self, Failure> {
        remove_abandoned(parent);
        // In containers process ids repeat, so another demo may have a folder with the same name.
        for attempt in 0..100 {
            let path = parent.join(format!("{PREFIX}{}-{attempt}", std::process::id()));
            match make_locked(&path) {
                Ok(running) => return Ok(Self { path, _running: running }),
                Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) => {}
                Err(error) => {
                    let message = Message::new("demo-folder").text("path", path.display());
                    return Err(Failure::failed(message.message("cause", io_cause(&error))));
                }
            }
        }
        Err(Failure::failed(Message::new("demo-folders-full").text("path", parent.display())))
    }

    pub(crate) fn url(&self) -> String {
        format!("sqlite:{}", self.path.join("turno.db").display())
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // The system cleans its temporary folder, so a folder that cannot be removed now does no harm.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Creates the folder and locks its file. Fails with `NotFound` if another demo took the folder for an abandoned one
/// before the file was locked.
fn make_locked(path: &Path) -> Result<File, Error> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    let running = File::create(path.join(LOCK))?;
    running.lock()?;
    std::fs::metadata(path.join(LOCK))?;
    Ok(running)
}

/// Deletes the folders of demos whose process is gone. A folder that cannot be opened or deleted belongs to another
/// user, and stays.
fn remove_abandoned(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        // The type of the entry itself: a link is not followed.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder
            && entry.file_name().to_str().is_some_and(is_demo)
            && let Ok(running) = File::open(entry.path().join(LOCK))
            && running.try_lock().is_ok()
        {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Returns whether a name is `turno-demo-`, a process id, `-` and a number.
fn is_demo(name: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    numbers.is_some_and(|(process, attempt)| number(process) && number(attempt))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_folder_is_new_and_is_deleted_with_its_value() {
        let (first, second) = (TemporaryFolder::create(), TemporaryFolder::create());
        let (first, second) = (first.expect("writable"), second.expect("writable"));
        assert_ne!(first.path, second.path);
        let path = first.path.clone();
        assert!(path.is_dir());
        drop(first);
        assert!(!path.exists());
    }

    #[test]
    fn folders_of_killed_demos_are_deleted_and_all_others_stay() {
        let parent = std::env::temp_dir().join(format!("turno-folders-{}", std::process::id()));
        std::fs::create_dir(&parent).expect("writable");
        let make = |name: &str| {
            let path = parent.join(name);
            (make_locked(&path).expect("writable"), path)
        };
        let (running, living) = make("turno-demo-1-0");
        let (killed, abandoned) = make("turno-demo-2-0");
        let others = ["turno-demo-x-0", "turno-demo-3", "turno-demo-4-0.bak", "mine"].map(|name| make(name).1);
        // The system does this when a process is killed.
        drop(killed);
        let unlocked = parent.join("turno-demo-5-0");
        std::fs::create_dir(&unlocked).expect("writable");
        let new = TemporaryFolder::create_in(&parent).expect("writable");
        assert!(!abandoned.exists(), "its demo was killed");
        assert!(living.exists(), "its demo runs");
        assert!(unlocked.exists(), "its demo is starting");
        assert!(others.iter().all(|other| other.exists()), "no folder of a demo");
        assert!(new.path.exists());
        drop((running, new));
        std::fs::remove_dir_all(&parent).expect("the folder is ours");
    }
}
