//! Files of the packages, with fixed permissions, so that the umask of the machine does not matter.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::tools::{Problem, StepResult};

/// Writes a file with these permissions and creates its folders.
pub(super) fn write(path: &Path, mode: u32, content: impl AsRef<[u8]>) -> StepResult {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    fs::write(path, content).map_err(|error| failed("write", path, &error))?;
    set_mode(path, mode)
}

/// Copies a file, sets its permissions and creates the target's folders.
pub(super) fn copy(from: &Path, to: &Path, mode: u32) -> StepResult {
    if let Some(folder) = to.parent() {
        make_folder(folder)?;
    }
    fs::copy(from, to).map_err(|error| failed("copy", from, &error))?;
    set_mode(to, mode)
}

pub(super) fn read(path: &Path) -> Result<String, Problem> {
    fs::read_to_string(path).map_err(|error| failed("read", path, &error))
}

/// Creates missing folders. The folders that it creates have the permissions 0755.
pub(super) fn make_folder(folder: &Path) -> StepResult {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent() {
        make_folder(parent)?;
    }
    fs::create_dir(folder).map_err(|error| failed("create", folder, &error))?;
    set_mode(folder, 0o755)
}

/// Creates a folder, or deletes all that is in it.
pub(super) fn empty_folder(folder: &Path) -> StepResult {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| failed("delete", folder, &error))?;
    }
    make_folder(folder)
}

pub(super) fn set_mode(path: &Path, mode: u32) -> StepResult {
    let permissions = fs::Permissions::from_mode(mode);
    fs::set_permissions(path, permissions).map_err(|error| failed("set the permissions of", path, &error))
}

fn failed(action: &str, path: &Path, error: &std::io::Error) -> Problem {
    Problem::failed(format!("failed to {action} {}: {error}", path.display()))
}
