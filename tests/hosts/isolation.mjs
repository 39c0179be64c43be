// Starts this runner again where no network is but loopback and where every process ends with it.
import net from 'node:net';
import os from 'node:os';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { places } from '../harness.mjs';

// As another user than root, the namespaces belong to a user namespace in which one is root.
const namespaces = [
    ...(process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']),
    '--net', '--pid', '--fork', '--kill-child', '--mount-proc'
];
const mark = 'QUAD_TEST_HOSTS_ISOLATED';
const loopbackUp = 'ip link set lo up';

export const isIsolated = process.env[mark] === '1';

/** Runs `script` isolated, with its temporary files in `folder`. Gives its status, or a reason why that is not possible here. */
export async function runIsolated(script, words, folder) {
    const probe = spawnSync('unshare', [...namespaces, 'sh', '-c', loopbackUp], { encoding: 'utf8' });
    if (probe.error || probe.status !== 0) {
        const cause = (probe.error?.message ?? probe.stderr).trim();
        return { reason: `no network namespace: ${cause}. Run this on Linux, as root or where users may create namespaces` };
    }
    const inside = ['sh', '-c', `${loopbackUp} && exec "$@"`, 'sh', places.node, script, ...words];
    const environment = { ...process.env, [mark]: '1', TMPDIR: folder };
    const child = spawn('unshare', [...namespaces, ...inside], { stdio: 'inherit', env: environment });
    // The first process of the namespace ends with `unshare`, and all others with it.
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill('SIGKILL'));
    const [status] = await once(child, 'exit');
    return { status: status ?? 1 };
}

/** Why a host could reach more than this machine, or nothing. */
export async function reachable() {
    const devices = Object.keys(os.networkInterfaces());
    if (devices.some(device => device !== 'lo')) return `devices ${devices.join(', ')}`;
    // An address of the block for documentation, which no machine has.
    const socket = net.connect({ host: '192.0.2.1', port: 443, timeout: 2000 });
    const outcome = await new Promise(resolve => {
        socket.on('error', error => resolve(error.code));
        socket.on('timeout', () => resolve('no answer'));
        socket.on('connect', () => resolve('connected'));
    });
    socket.destroy();
    return outcome === 'ENETUNREACH' ? undefined : `a connection to another machine: ${outcome}`;
}
