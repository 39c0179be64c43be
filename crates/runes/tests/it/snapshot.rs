//! Snapshots of what is computed from the built-in catalogue, so that a change is visible in review.
//! `QUAD_TEST_BLESS=1` writes them again.

use std::path::PathBuf;

pub fn assert_snapshot(name: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var_os("QUAD_TEST_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, actual).unwrap();
        return;
    }
    let expect = std::fs::read_to_string(&path).unwrap_or_default();
    if let Some((line, (actual_line, expected_line))) = actual
        .lines()
        .zip(expect.lines())
        .enumerate()
        .find(|(_, (actual_line, expected_line))| actual_line != expected_line)
    {
        panic!(
            "{name}:{}: now `{actual_line}`, kept `{expected_line}`; QUAD_TEST_BLESS=1 keeps the new one",
            line + 1
        );
    }
    assert_eq!(actual.len(), expect.len(), "{name} changed in length; QUAD_TEST_BLESS=1 keeps the new one");
}
