#!/usr/bin/env bash
# A throwaway PostgreSQL cluster for tests.
#
#   tests/postgres.sh start [--fast] [--tls FILES] DIR
#                                           makes a cluster in DIR (new or empty) and prints its URL, alone
#   tests/postgres.sh stop DIR              stops it and removes DIR
#   tests/postgres.sh bin                   prints the folder of the server's programs, or fails
#
# The URL's role owns nothing but the database `quad` and may create databases: a test that needs more than that would
# need more in production too. The cluster sorts by language rules unless a column says COLLATE "C", so that a column
# that forgot to say it sorts differently here than on SQLite. Writes are flushed to disk; --fast leaves that out, for
# tests that are not about durability. Nothing but loopback and the socket in DIR is served, and there without passwords.
#
# --tls names a folder with server.crt, server.key and root.crt: the cluster takes TLS connections only, and one of the
# role `certified` only with a client certificate that root.crt signed.
#
# QUAD_TEST_POSTGRES_BIN names the folder of another PostgreSQL, version 15 or later.
set -euo pipefail

fail() {
    echo "tests/postgres.sh: $*" >&2
    exit 1
}

# The folder that holds initdb, pg_ctl and psql of one version.
bin() {
    local candidate newest=
    if [[ -n ${QUAD_TEST_POSTGRES_BIN:-} ]]; then
        [[ -x $QUAD_TEST_POSTGRES_BIN/initdb ]] || fail "no initdb in QUAD_TEST_POSTGRES_BIN=$QUAD_TEST_POSTGRES_BIN"
        echo "$QUAD_TEST_POSTGRES_BIN"
        return
    fi
    # pg_config may come with the client library alone, so its word is checked.
    if candidate=$(pg_config --bindir 2>/dev/null) && [[ -x $candidate/initdb ]]; then
        echo "$candidate"
        return
    fi
    for candidate in $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V); do
        [[ -x $candidate/initdb ]] && newest=$candidate
    done
    [[ -n $newest ]] || fail "no PostgreSQL server found; ./x setup installs one"
    echo "$newest"
}

# PostgreSQL refuses to run as root, so root lends the work to the user that the package made.
as_owner() {
    if [[ $(id -u) == 0 ]]; then
        runuser -u postgres -- "$@"
    else
        "$@"
    fi
}

start() {
    local dir=$1 fast=$2 tls=$3 programs port file
    programs=$(bin)
    mkdir -p "$dir"
    [[ -z $(ls -A "$dir") ]] || fail "$dir is not empty"
    dir=$(cd "$dir" && pwd)
    chmod 700 "$dir"
    if [[ $(id -u) == 0 ]]; then
        id postgres >/dev/null 2>&1 || fail "running as root needs the user postgres, which the package postgresql makes"
        chown postgres "$dir"
    fi
    # From here the owner of the cluster must be able to stand in the current folder.
    cd /

    as_owner "$programs/initdb" --pgdata="$dir/data" --username=postgres --auth=trust --encoding=UTF8 \
        --locale-provider=icu --icu-locale=en-US --locale=C --no-sync >"$dir/initdb.log" 2>&1 || {
        cat "$dir/initdb.log" >&2
        fail "initdb failed"
    }
    as_owner tee "$dir/data/pg_hba.conf" >/dev/null <<-HBA
		local all all trust
		host  all all 127.0.0.1/32 trust
	HBA
    as_owner tee -a "$dir/data/postgresql.conf" >/dev/null <<-CONF
		listen_addresses = '127.0.0.1'
		unix_socket_directories = '$dir'
		max_connections = 300
		fsync = $([[ $fast == yes ]] && echo off || echo on)
		synchronous_commit = $([[ $fast == yes ]] && echo off || echo on)
		full_page_writes = $([[ $fast == yes ]] && echo off || echo on)
	CONF
    if [[ -n $tls ]]; then
        for file in server.crt server.key root.crt; do
            as_owner install -m 600 /dev/stdin "$dir/data/$file" <"$tls/$file"
        done
        printf 'local all all trust\nhostssl all certified 127.0.0.1/32 cert\nhostssl all all 127.0.0.1/32 trust\n' |
            as_owner tee "$dir/data/pg_hba.conf" >/dev/null
        printf "ssl = on\nssl_ca_file = 'root.crt'\n" | as_owner tee -a "$dir/data/postgresql.conf" >/dev/null
    fi

    # A port that is free now may be taken a moment later, so the server itself is the one that tries. The range lies
    # below the one from which the kernel takes ports for outgoing connections.
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        port=$((20000 + RANDOM % 12000))
        if as_owner "$programs/pg_ctl" --pgdata="$dir/data" --log="$dir/server.log" --options="-p $port" \
            --wait --timeout=60 start >/dev/null 2>&1; then
            as_owner "$programs/psql" --quiet --no-psqlrc --host="$dir" --port="$port" --username=postgres \
                --set=ON_ERROR_STOP=1 --dbname=postgres \
                --command="CREATE ROLE quad LOGIN CREATEDB" --command="CREATE DATABASE quad OWNER quad" \
                --command="CREATE ROLE certified LOGIN IN ROLE quad"
            echo "postgres://quad@127.0.0.1:$port/quad"
            return
        fi
        grep -q 'could not bind' "$dir/server.log" || break
    done
    tail -n 20 "$dir/server.log" >&2
    fail "the server in $dir did not start"
}

stop() {
    local dir=$1 programs
    [[ -f $dir/data/PG_VERSION ]] || fail "$dir holds no cluster"
    programs=$(bin)
    dir=$(cd "$dir" && pwd)
    cd /
    if as_owner "$programs/pg_ctl" --pgdata="$dir/data" status >/dev/null 2>&1; then
        # Immediate, since a last checkpoint would only save what is removed next.
        as_owner "$programs/pg_ctl" --pgdata="$dir/data" --mode=immediate --wait --timeout=60 stop >/dev/null ||
            fail "the server in $dir did not stop"
    fi
    rm -rf -- "$dir"
}

usage() {
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0" >&2
    exit 2
}

case ${1:-} in
start)
    shift
    fast=no tls=
    if [[ ${1:-} == --fast ]]; then
        fast=yes
        shift
    fi
    if [[ ${1:-} == --tls && $# == 3 ]]; then
        # The cluster is made from another folder.
        tls=$(cd "$2" && pwd)
        shift 2
    fi
    [[ $# == 1 ]] || usage
    start "$1" "$fast" "$tls"
    ;;
stop)
    [[ $# == 2 ]] || usage
    stop "$2"
    ;;
bin) bin ;;
*) usage ;;
esac
