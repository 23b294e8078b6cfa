//! Where the configuration is kept, and how it gets there.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use cpuledger_names::names::home_of;
use cpuledger_program::draft::Draft;
use rustix::process::geteuid;

/// More links than these lead nowhere, as for the kernel.
const MOST_LINKS: usize = 40;

/// Where the file is: the one place that decides whose it is. To be called when privileges are given up: with sudo the user
/// is the caller then.
pub fn usual_path() -> Option<PathBuf> {
    path_of(geteuid().as_raw(), |name| std::env::var_os(name), home_of)
}

/// By the rules of XDG, where the environment names a directory of that user: sudo and su may leave that of another user,
/// which could make links in it. Otherwise below the home of the user database.
fn path_of(
    uid: u32,
    variable: impl Fn(&str) -> Option<OsString>,
    home: impl Fn(u32) -> Option<PathBuf>,
) -> Option<PathBuf> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let named = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    let own = || home(uid).map(|home| home.join(".config"));
    let directory = match named {
        Some(named) if belongs_to(&named, uid) => Some(named),
        named => own().or(named),
    };
    Some(directory?.join("cpuledger").join("ptop.toml"))
}

/// Whether it is that user's; where it is not there yet, what it would be made in.
fn belongs_to(directory: &Path, uid: u32) -> bool {
    // A link of another user could lead anywhere, and change.
    let is_trusted =
        |path: &Path| fs::symlink_metadata(path).map_or(true, |metadata| [0, uid].contains(&metadata.uid()));
    let metadata = directory.ancestors().find_map(|directory| fs::metadata(directory).ok());
    directory.ancestors().all(is_trusted) && metadata.is_some_and(|metadata| metadata.uid() == uid)
}

/// Writes a file whole or not at all: under a name that no file has, then in the place of the old file, whose mode and
/// owner are kept. If the path is a link, the file it points to is replaced.
///
/// # Errors
/// When it cannot be written; then there is nothing new.
pub fn replace(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let target = target(path)?;
    let directory = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let old = match fs::symlink_metadata(&target) {
        Ok(old) => Some(old),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    ensure!(old.as_ref().is_none_or(fs::Metadata::is_file), "it is not a regular file");
    // The umask is taken from it, as from any new file's.
    let mode = if old.is_some() { 0o600 } else { 0o666 };
    let draft = Draft::create(directory, ".ptop.toml.", mode)?;
    draft.file().write_all(bytes)?;
    let file = draft.file();
    if let Some(old) = old {
        let new = file.metadata()?;
        if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
            fchown(file, Some(old.uid()), Some(old.gid()))
                .context("cannot give the new file the owner and group of the old one")?;
        }
        file.set_permissions(Permissions::from_mode(old.mode() & 0o777))?;
    }
    file.sync_all()?;
    draft.rename(&target)?;
    // It has its name. Where the directory cannot be synchronised, a crash of the machine may bring the old file back.
    let _ = File::open(directory).and_then(|directory| directory.sync_all());
    Ok(())
}

/// The file that the path leads to, which need not be there. Only links of ours and of root are followed: the kernel would
/// follow another user's in a directory like /tmp neither.
fn target(path: &Path) -> anyhow::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::symlink_metadata(&target) {
            Ok(metadata) if metadata.is_symlink() => {
                let is_trusted = [0, geteuid().as_raw()].contains(&metadata.uid());
                ensure!(is_trusted, "{} is a link that another user has made", target.display());
                let link = fs::read_link(&target)?;
                target = target.parent().unwrap_or(Path::new("")).join(link);
            }
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => return Ok(target),
        }
    }
    bail!("its links form a circle, or are too many")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).expect("a directory").flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn text(path: &Path) -> String {
        fs::read_to_string(path).expect("a file")
    }

    #[test]
    fn a_planted_link_is_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let [config, planted, victim] =
            ["ptop.toml", "ptop.toml.new", "victim"].map(|name| folder.path().join(name));
        fs::write(&victim, "untouched").expect("a file");
        symlink(&victim, &planted).expect("a link");
        replace(&config, b"new").expect("it is ours");
        assert_eq!((text(&config), text(&victim)), ("new".to_owned(), "untouched".to_owned()));
        assert_eq!(names(folder.path()), ["ptop.toml", "ptop.toml.new", "victim"]);
    }

    #[test]
    fn a_link_stays_one_and_its_file_keeps_its_mode() {
        let folder = tempfile::tempdir().expect("a folder");
        let [dotfiles, config] = ["dotfiles", "config"].map(|name| folder.path().join(name));
        fs::create_dir(&dotfiles).and_then(|()| fs::create_dir(&config)).expect("folders");
        let (file, path) = (dotfiles.join("real"), config.join("ptop.toml"));
        // One that is not there yet, then one that is.
        symlink("../dotfiles/link", &path)
            .and_then(|()| symlink("real", dotfiles.join("link")))
            .expect("links");
        replace(&path, b"first").expect("it is ours");
        assert_eq!(text(&file), "first");
        fs::set_permissions(&file, Permissions::from_mode(0o640)).expect("it is ours");
        replace(&path, b"second").expect("it is ours");
        assert_eq!((text(&file), text(&path)), ("second".to_owned(), "second".to_owned()));
        assert_eq!(fs::metadata(&file).expect("a file").mode() & 0o7777, 0o640);
        assert_eq!(
            (names(&dotfiles), names(&config)),
            (vec!["link".to_owned(), "real".to_owned()], vec!["ptop.toml".to_owned()])
        );
        assert!(
            [path, dotfiles.join("link")]
                .iter()
                .all(|link| fs::symlink_metadata(link).expect("it is there").is_symlink())
        );
    }

    #[test]
    fn what_is_no_file_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let [directory, circle, below] =
            ["directory", "circle", "directory/file"].map(|name| folder.path().join(name));
        fs::create_dir(&directory).and_then(|()| fs::write(&below, "")).expect("a folder");
        symlink("circle", &circle).expect("a link");
        for (path, sentence) in [
            (&directory, "it is not a regular file"),
            (&circle, "its links form a circle, or are too many"),
            (&below.join("ptop.toml"), "Not a directory"),
            (&PathBuf::from("/dev/null"), "it is not a regular file"),
        ] {
            let error = replace(path, b"new").expect_err("it cannot be written");
            assert!(cpuledger_program::exit::sentence(&error).contains(sentence), "{error:#}");
        }
        assert_eq!(names(folder.path()), ["circle", "directory"]);
    }

    #[test]
    fn the_configuration_is_that_of_the_user() {
        let folder = tempfile::tempdir().expect("a folder");
        let us = geteuid().as_raw();
        let other = us + 1;
        let home = |_| Some(PathBuf::from("/database"));
        let at = |directory: &Path| Some(directory.join("cpuledger/ptop.toml"));
        let in_environment = |wanted: &'static str| {
            let path = folder.path().join("not there yet");
            move |name: &str| (name == wanted).then(|| path.clone().into_os_string())
        };
        let (xdg, dot_config) =
            (folder.path().join("not there yet"), folder.path().join("not there yet/.config"));
        assert_eq!(path_of(us, in_environment("XDG_CONFIG_HOME"), home), at(&xdg));
        assert_eq!(path_of(us, in_environment("HOME"), home), at(&dot_config));
        // As with sudo, su and the like: it is that of another user.
        assert_eq!(
            path_of(other, in_environment("XDG_CONFIG_HOME"), home),
            at(Path::new("/database/.config"))
        );
        assert_eq!(path_of(other, in_environment("HOME"), |_| None), at(&dot_config));
        assert_eq!(path_of(us, |_| None, home), at(Path::new("/database/.config")));
        assert_eq!(path_of(us, |_| Some("relative".into()), |_| None), None);
    }
}
