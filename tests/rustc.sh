#!/usr/bin/env bash
# RUSTC_WORKSPACE_WRAPPER of `./x test`: compiles a crate of the workspace, checks it with clippy's lints, and checks its
# documentation. One pass is enough, since clippy-driver is rustc with lints, and rustdoc reads the dependencies that were
# compiled for the build. `cargo clippy` and `cargo doc` would compile all dependencies again.
set -euo pipefail

clippy-driver "$@"

# cargo calls the compiler as `rustc --crate-name NAME … FILE …`. Tests, benches and examples have no documentation.
doc=() source=
shift
while (($#)); do
    case $1 in
    --crate-name)
        doc+=("$1" "$2")
        shift
        ;;
    --crate-type)
        [[ $2 == lib || $2 == bin ]] || exit 0
        doc+=("$1" "$2")
        # A binary has no public items.
        [[ $2 == lib ]] || doc+=(--document-private-items)
        shift
        ;;
    --extern | -L | --cfg | --check-cfg)
        doc+=("$1" "$2")
        shift
        ;;
    --edition=*) doc+=("$1") ;;
    crates/*/src/*.rs) source=$1 ;;
    --test | --print=* | --print | -vV) exit 0 ;;
    esac
    shift
done
[[ -n $source ]] || exit 0
exec rustdoc "${doc[@]}" "$source" --out-dir "${CARGO_TARGET_DIR:-target}/rustdoc" -D warnings
