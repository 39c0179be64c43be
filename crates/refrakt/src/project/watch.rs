//! Hearing of changes in folders, as a proof that there were none.
//!
//! On Linux the kernel puts a notice into our queue before the call that changed a file returns to whoever made it. So an empty
//! queue says that nothing was changed by any call that ended before we looked: one call in place of a look at every file. It
//! says nothing about changes that do not pass this kernel's files (a network folder) or not by these folders (through memory that
//! is mapped, or by a second name of the same file in another folder). File systems of the first kind are not listened to; for
//! the rest, whoever relies on a watch looks at the files now and then nevertheless.

#[cfg(target_os = "linux")]
pub(super) use linux::Watch;
#[cfg(not(target_os = "linux"))]
pub(super) use stub::Watch;

#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
    use rustix::io::Errno;

    /// File systems whose every change passes this kernel, by the number that `statfs` gives: ext2 to 4, XFS, Btrfs, tmpfs, F2FS,
    /// bcachefs, ZFS and overlays.
    const LOCAL_FILE_SYSTEMS: [u32; 8] =
        [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0xf2f5_2010, 0xca45_1a4e, 0x2fc1_2fc1, 0x794c_7630];

    /// Most calls by which one look empties the queue: what is left is heard by the next.
    const DRAIN_READS_MAX: usize = 64;

    /// Folders that are listened to.
    #[derive(Debug)]
    pub(in crate::project) struct Watch {
        queue: OwnedFd,
    }

    impl Watch {
        /// Listens to nothing yet; none where the system has no more queues to give.
        pub(in crate::project) fn new() -> Option<Watch> {
            inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok().map(|queue| Watch { queue })
        }

        /// Listens to a folder from now on. Says whether that can be relied on.
        pub(in crate::project) fn add(&self, folder: &Path) -> bool {
            // Only the low half is the file system's number; the type is wider, and signed, on some processors.
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

        /// Whether anything was heard since the last time.
        pub(in crate::project) fn drain_events(&self) -> bool {
            let mut buffer = [0_u8; 4096];
            let mut has_events = false;
            for _ in 0..DRAIN_READS_MAX {
                match rustix::io::read(&self.queue, &mut buffer) {
                    Ok(_) => has_events = true,
                    Err(Errno::AGAIN) => return has_events,
                    Err(Errno::INTR) => {}
                    // A queue that cannot be read proves nothing.
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

    /// Elsewhere nobody is heard, and so every file is looked at.
    #[derive(Debug)]
    pub(in crate::project) struct Watch;

    impl Watch {
        pub(in crate::project) fn new() -> Option<Watch> {
            None
        }

        pub(in crate::project) fn add(&self, _: &Path) -> bool {
            false
        }

        pub(in crate::project) fn drain_events(&self) -> bool {
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
        assert!(watch.add(root.path()), "the folder of temporary files lies on a local file system");
        assert!(!watch.drain_events());
        let assert_one_event = |description: &str, change: &dyn Fn()| {
            change();
            assert!(watch.drain_events(), "{description}");
            assert!(!watch.drain_events(), "{description} is heard once");
        };
        assert_one_event("a write", &|| fs::write(&file, "two").unwrap());
        assert_one_event("a new file", &|| fs::write(&other, "").unwrap());
        assert_one_event("a rename over another", &|| fs::rename(&other, &file).unwrap());
        assert_one_event("a time", &|| {
            fs::File::open(&file).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        });
        assert_one_event("a new folder", &|| fs::create_dir(root.path().join("c")).unwrap());
        assert_one_event("a removal", &|| fs::remove_file(&file).unwrap());
        fs::read_dir(root.path()).unwrap().count();
        assert!(!watch.drain_events(), "looking is no change");
    }

    #[test]
    fn watch_rejects_non_local_file_systems() {
        let watch = Watch::new().unwrap();
        assert!(!watch.add(Path::new("/proc")), "no file system whose changes are told");
        assert!(!watch.add(Path::new("/nowhere/at/all")));
    }
}
