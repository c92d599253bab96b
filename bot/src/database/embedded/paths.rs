//! Where the embedded server is stored: its folder, its socket, and the lock that excludes a second Nod.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, Uid};
use sha2::{Digest, Sha256};

use super::EmbeddedError;
use super::process::OsIdentity;

/// A socket's path holds 108 bytes on Linux and 104 elsewhere; PostgreSQL adds `/.s.PGSQL.5432` and, for its lock,
/// `.lock`.
const MAX_SOCKET_PATH: usize = 80;

/// The server's home if Nod is root and the server another user, who cannot enter root's own folders.
const SHARED_HOME: &str = "/var/lib/nod-postgres";

/// The server's folders.
#[derive(Debug, Clone)]
pub(super) struct ServerPaths {
    /// Holds `data` and `server.log`.
    pub(super) home: PathBuf,
    /// Holds the socket.
    pub(super) socket: PathBuf,
    pub(super) identity: OsIdentity,
}

impl ServerPaths {
    /// Returns the place of `data_dir`, creating it if it is missing. Runs `initdb` to find out what the kernel allows.
    pub(super) fn make(data_dir: &Path, initdb: &Path) -> Result<Self, EmbeddedError> {
        let failed = |error| EmbeddedError::Folder { path: data_dir.to_owned(), error };
        let identity = match owner_of(&data_dir.join("postgres")) {
            Some((uid, gid)) => identity_of(uid, gid),
            None => create_home_dir(data_dir, initdb)?,
        };
        if matches!(identity, OsIdentity::UserNamespace) && !identity.is_usable(initdb) {
            return Err(EmbeddedError::NoNamespace);
        }
        let home = data_dir.join("postgres").canonicalize().map_err(failed)?;
        let socket = socket_dir(&home, identity.owner());
        create_private_dir(&socket, identity)?;
        Ok(Self { home, socket, identity })
    }

    /// Returns the place of a server that already runs.
    pub(super) fn of_running(data_dir: &Path) -> Option<Self> {
        let (uid, gid) = owner_of(&data_dir.join("postgres"))?;
        let home = data_dir.join("postgres").canonicalize().ok()?;
        let socket = socket_dir(&home, uid);
        Some(Self { home, socket, identity: identity_of(uid, gid) })
    }

    pub(super) fn data(&self) -> PathBuf {
        self.home.join("data")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.home.join("server.log")
    }

    /// Returns the version that created the data, if any exists.
    pub(super) fn data_version(data_dir: &Path) -> Option<u32> {
        fs::read_to_string(data_dir.join("postgres/data/PG_VERSION")).ok()?.trim().parse().ok()
    }
}

fn owner_of(path: &Path) -> Option<(Uid, Gid)> {
    let meta = fs::metadata(path).ok()?;
    Some((Uid::from_raw(meta.uid()), Gid::from_raw(meta.gid())))
}

fn identity_of(uid: Uid, gid: Gid) -> OsIdentity {
    match (Uid::effective().is_root(), uid.is_root()) {
        (false, _) => OsIdentity::CurrentUser,
        (true, true) => OsIdentity::UserNamespace,
        (true, false) => OsIdentity::OtherUser { uid, gid },
    }
}

/// On the first start, decides which user the server runs as, and creates its folder. Later starts read the user from
/// the folder's owner.
fn create_home_dir(data_dir: &Path, initdb: &Path) -> Result<OsIdentity, EmbeddedError> {
    let home = data_dir.join("postgres");
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| EmbeddedError::Folder { path, error }
    };
    let usual = if Uid::effective().is_root() { OsIdentity::UserNamespace } else { OsIdentity::CurrentUser };
    if usual == OsIdentity::CurrentUser || usual.is_usable(initdb) {
        DirBuilder::new().mode(0o700).create(&home).map_err(failed(&home))?;
        return Ok(usual);
    }
    let other = OsIdentity::unprivileged().ok_or(EmbeddedError::NoNamespace)?;
    let shared = Path::new(SHARED_HOME);
    DirBuilder::new().recursive(true).mode(0o755).create(shared).map_err(failed(shared))?;
    let real = find_unused_path(shared, &short_path_hash(data_dir)).map_err(failed(shared))?;
    create_private_dir(&real, other)?;
    symlink(&real, &home).map_err(failed(&home))?;
    Ok(other)
}

/// Returns an unused name. A folder with that name may remain from a deleted data folder, whose rows must not come
/// back.
fn find_unused_path(parent: &Path, name: &str) -> io::Result<PathBuf> {
    let mut free = parent.join(name);
    let mut number = 1;
    while free.try_exists()? {
        number += 1;
        free = parent.join(format!("{name}-{number}"));
    }
    Ok(free)
}

/// Returns a short name that is unique for every data folder.
fn short_path_hash(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    hex::encode(&Sha256::digest(path.as_os_str().as_bytes())[..6])
}

/// Returns a folder in the server's home, unless its path is too long for a socket or has characters that PostgreSQL's
/// setting would misread.
fn socket_dir(home: &Path, owner: Uid) -> PathBuf {
    let inside = home.join("socket");
    let text = inside.to_string_lossy();
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-".contains(&b));
    if plain && text.len() <= MAX_SOCKET_PATH {
        return inside;
    }
    PathBuf::from(format!("/tmp/nod-{owner}-{}", short_path_hash(home)))
}

/// Creates a folder that only its owner can enter, or verifies that an existing one is: in `/tmp` another user could
/// have created it first.
fn create_private_dir(path: &Path, identity: OsIdentity) -> Result<(), EmbeddedError> {
    let failed = |error: io::Error| EmbeddedError::Folder { path: path.to_owned(), error };
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {
            if let OsIdentity::OtherUser { uid, gid } = identity {
                chown(path, Some(uid.as_raw()), Some(gid.as_raw())).map_err(failed)?;
            }
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let meta = fs::symlink_metadata(path).map_err(failed)?;
            let ours = meta.is_dir() && meta.uid() == identity.owner().as_raw();
            if ours && meta.permissions().mode() & 0o077 == 0 {
                return Ok(());
            }
            Err(EmbeddedError::ForeignFolder { path: path.to_owned() })
        }
        Err(error) => Err(failed(error)),
    }
}

/// Held as long as the server can run. The kernel releases it when the process ends, however it ends.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

/// Closing the file is not enough: a program that is just being started has a copy of it until it runs.
impl Drop for Lock {
    fn drop(&mut self) {
        if let Err(error) = self.file.unlock() {
            tracing::warn!(%error, "could not unlock the data folder");
        }
    }
}

impl Lock {
    /// Creates the data folder if it is missing, and locks it.
    pub(super) fn acquire(data_dir: &Path) -> Result<Self, EmbeddedError> {
        let failed = |error: io::Error| EmbeddedError::Folder { path: data_dir.to_owned(), error };
        DirBuilder::new().recursive(true).mode(0o700).create(data_dir).map_err(failed)?;
        let path = data_dir.join("nod.lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {
                file.set_len(0).map_err(failed)?;
                write!(file, "{}", std::process::id()).map_err(failed)?;
                Ok(Self { file })
            }
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                file.read_to_string(&mut pid).map_err(failed)?;
                Err(EmbeddedError::InUse { path: data_dir.to_owned(), pid: pid.trim().to_owned() })
            }
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn long_or_special_paths_get_their_socket_elsewhere() {
        let owner = Uid::from_raw(7);
        assert_eq!(socket_dir(Path::new("/srv/nod"), owner), Path::new("/srv/nod/socket"));
        for home in ["/srv/with, comma".to_owned(), format!("/{}", "deep/".repeat(20))] {
            let socket = socket_dir(Path::new(&home), owner);
            assert!(socket.starts_with("/tmp") && socket.to_string_lossy().starts_with("/tmp/nod-7-"));
        }
    }

    #[test]
    fn a_folder_that_others_can_enter_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("socket");
        create_private_dir(&path, OsIdentity::CurrentUser).unwrap();
        create_private_dir(&path, OsIdentity::CurrentUser).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let refused = create_private_dir(&path, OsIdentity::CurrentUser).unwrap_err();
        assert!(matches!(refused, EmbeddedError::ForeignFolder { .. }));
        let link = root.path().join("link");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        symlink(&path, &link).unwrap();
        assert!(matches!(
            create_private_dir(&link, OsIdentity::CurrentUser),
            Err(EmbeddedError::ForeignFolder { .. })
        ));
    }

    #[test]
    fn second_process_is_refused_with_the_first_pid() {
        let root = tempfile::tempdir().unwrap();
        let first = Lock::acquire(root.path()).unwrap();
        let second = Lock::acquire(root.path()).unwrap_err();
        assert!(second.to_string().contains(&std::process::id().to_string()), "{second}");
        drop(first);
        Lock::acquire(root.path()).unwrap();
    }
}
