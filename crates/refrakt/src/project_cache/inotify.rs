//! Watches folders with inotify, to prove that nothing has changed.
//!
//! On Linux the kernel queues an event before the system call that changed a file returns to its caller. An empty queue
//! therefore proves that no finished system call has changed a file: one `read` replaces a `stat` of every file. Crates
//! such as `notify` read events on a thread of their own and cannot give this proof.
//!
//! Two kinds of change cause no event. Changes on a network file system are made by another kernel, so only local file
//! systems are watched. Changes through mapped memory, or through a hard link in another folder, are found by the full
//! check after [`FULL_RESCAN_INTERVAL`](crate::limits::FULL_RESCAN_INTERVAL). On other systems than Linux nothing is
//! watched, and every read checks all files.

#[cfg(target_os = "linux")]
pub(crate) use linux::Watch;
#[cfg(not(target_os = "linux"))]
pub(crate) use stub::Watch;

#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
    use rustix::io::Errno;

    /// File systems whose changes all pass through this kernel, by the magic number of `statfs`: ext2 to ext4, XFS,
    /// Btrfs, tmpfs, F2FS, bcachefs, ZFS and overlayfs.
    const LOCAL_FILE_SYSTEMS: [u32; 8] =
        [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0xf2f5_2010, 0xca45_1a4e, 0x2fc1_2fc1, 0x794c_7630];

    /// Most reads of the queue per check. The next check reads the rest.
    const DRAIN_READS_MAX: usize = 64;

    /// A set of watched folders.
    #[derive(Debug)]
    pub(crate) struct Watch {
        queue: OwnedFd,
    }

    impl Watch {
        /// An empty set; `None` if the system has no inotify instance left.
        pub(crate) fn new() -> Option<Watch> {
            inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok().map(|queue| Watch { queue })
        }

        /// Watches a folder from now on. Returns whether its events are reliable.
        pub(crate) fn add(&self, folder: &Path) -> bool {
            // Only the low 32 bits hold the magic number. The type is wider, and signed, on some processors.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "see above")]
            let is_local = rustix::fs::statfs(folder)
                .is_ok_and(|system| LOCAL_FILE_SYSTEMS.contains(&(system.f_type as u32)));
            let changes = WatchFlags::MODIFY
                | WatchFlags::ATTRIB
                | WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::MOVE
                | WatchFlags::DELETE_SELF
                | WatchFlags::MOVE_SELF
                | WatchFlags::ONLYDIR;
            is_local && inotify::add_watch(&self.queue, folder, changes).is_ok()
        }

        /// Whether there was an event since the last call.
        pub(crate) fn drain_events(&self) -> bool {
            let mut buffer = [0_u8; 4096];
            let mut has_events = false;
            for _ in 0..DRAIN_READS_MAX {
                match rustix::io::read(&self.queue, &mut buffer) {
                    Ok(_) => has_events = true,
                    Err(Errno::AGAIN) => return has_events,
                    Err(Errno::INTR) => {}
                    // Without a readable queue nothing is proven.
                    Err(_) => return true,
                }
            }
            true
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod stub {
    use std::path::Path;

    /// Watches nothing, so every read checks all files.
    #[derive(Debug)]
    pub(crate) struct Watch;

    impl Watch {
        pub(crate) fn new() -> Option<Watch> {
            None
        }

        pub(crate) fn add(&self, _: &Path) -> bool {
            false
        }

        pub(crate) fn drain_events(&self) -> bool {
            true
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::Watch;

    #[test]
    fn watch_reports_each_change_once_and_ignores_reads() {
        let root = tempfile::tempdir().unwrap();
        let (file, other) = (root.path().join("a.md"), root.path().join("b.md"));
        fs::write(&file, "one").unwrap();
        let watch = Watch::new().unwrap();
        assert!(watch.add(root.path()), "the temporary folder is on a local file system");
        assert!(!watch.drain_events());
        let assert_one_event = |description: &str, change: &dyn Fn()| {
            change();
            assert!(watch.drain_events(), "{description}");
            assert!(!watch.drain_events(), "{description} is reported once");
        };
        assert_one_event("a write", &|| fs::write(&file, "two").unwrap());
        assert_one_event("a new file", &|| fs::write(&other, "").unwrap());
        assert_one_event("a rename over another", &|| fs::rename(&other, &file).unwrap());
        assert_one_event("a modification time", &|| {
            fs::File::open(&file).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        });
        assert_one_event("a new folder", &|| fs::create_dir(root.path().join("c")).unwrap());
        assert_one_event("a removal", &|| fs::remove_file(&file).unwrap());
        fs::read_dir(root.path()).unwrap().count();
        assert!(!watch.drain_events(), "reading is not a change");
    }

    #[test]
    fn watch_rejects_non_local_file_systems() {
        let watch = Watch::new().unwrap();
        assert!(!watch.add(Path::new("/proc")), "not a local file system");
        assert!(!watch.add(Path::new("/nowhere/at/all")));
    }
}
