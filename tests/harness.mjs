// What the runners of the foreign programs share: where things are, how a server starts and stops, how a check is reported.
// It must not know MCP; the foreign clients do.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');

export const places = {
    root,
    node: process.execPath,
    npm: path.join(root, '.tools/npm'),
    python: path.join(root, '.tools/python/bin/python'),
    quad: path.resolve(process.env.QUAD_BIN ?? path.join(root, 'target/debug/quad'))
};

// --- reports ---------------------------------------------------------------------------------------------------------

const counts = { passed: 0, failed: 0, skipped: 0 };

/** One line a check, the outcome first, so that `grep ^FAIL` finds what matters. Tells whether all is well. */
export function report(outcome, check, detail = '') {
    const [word, count] = { pass: ['ok  ', 'passed'], fail: ['FAIL', 'failed'], skip: ['skip', 'skipped'] }[outcome];
    counts[count] += 1;
    console.log(`${word} ${check}${detail && `: ${detail}`}`);
    return outcome !== 'fail';
}

/** The closing line that `./x` reads, and the exit status that goes with it. */
export function finish() {
    console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
    process.exitCode = counts.failed === 0 ? 0 : 1;
}

// --- processes -------------------------------------------------------------------------------------------------------

const running = new Set();
const folders = new Set();
let ending = false;

function start(command, args, options) {
    // Else a lane whose program was just ended would go on with the next.
    if (ending) throw new Error('interrupted');
    const child = spawn(command, args, options);
    running.add(child);
    return child;
}

/** A temporary folder that is gone when the runner ends. */
export async function temporaryFolder() {
    const folder = await fs.mkdtemp(path.join(os.tmpdir(), 'quad-check-'));
    folders.add(folder);
    return folder;
}

/** Runs a program to its end, within a time limit, and gives its status and output. */
export async function run(command, args, seconds = 60) {
    const child = start(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const output = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr']) {
        child[stream].setEncoding('utf8').on('data', text => (output[stream] += text));
    }
    let late = false;
    const limit = setTimeout(() => {
        late = true;
        child.kill('SIGKILL');
    }, seconds * 1000);
    try {
        const [status] = await once(child, 'close');
        return { ...output, status: status ?? -1, late };
    } finally {
        clearTimeout(limit);
        running.delete(child);
    }
}

async function freePort() {
    const probe = net.createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address();
    probe.close();
    await once(probe, 'close');
    return port;
}

const pause = ms => new Promise(resolve => setTimeout(resolve, ms));

/**
 * Starts a server on a free loopback port, `argumentsFor(address)` being its command line, and waits until /healthz answers.
 * The port was free a moment before the server takes it, so a server that ends at once gets a second try on another.
 */
export async function startServer(command, argumentsFor, seconds = 30) {
    let error;
    for (let attempt = 0; attempt < 3; attempt += 1) {
        const address = `127.0.0.1:${await freePort()}`;
        const child = start(command, argumentsFor(address), { stdio: ['ignore', 'ignore', 'pipe'] });
        const server = { url: `http://${address}/mcp`, log: '', stop: () => stop(child) };
        child.stderr.setEncoding('utf8').on('data', text => (server.log += text));
        let ended = false;
        child.on('error', cause => {
            ended = true;
            server.log += `${cause.message}\n`;
        });
        child.on('exit', () => (ended = true));
        const deadline = Date.now() + seconds * 1000;
        while (!ended && Date.now() < deadline) {
            const answer = await fetch(`http://${address}/healthz`).catch(() => undefined);
            if (answer?.status === 200) return server;
            await pause(50);
        }
        error = new Error(`${path.basename(command)} ${ended ? 'ended' : 'did not answer /healthz'}: ${tail(server.log)}`);
        await stop(child);
    }
    throw error;
}

/** Asks a process to end, and after five seconds insists. */
async function stop(child) {
    running.delete(child);
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    const insist = setTimeout(() => child.kill('SIGKILL'), 5000);
    await ended;
    clearTimeout(insist);
}

/** The end of a log or an output, on one line. */
export function tail(text, length = 600) {
    const line = text.trim().replaceAll(/\s*\n\s*/g, ' | ');
    return line.length > length ? `…${line.slice(-length)}` : line || 'no output';
}

/** What a server said lately, for the reader of a failure. */
export function showLog(server) {
    for (const line of server.log.trimEnd().split('\n').slice(-20)) console.log(`     server: ${line}`);
}

/** Runs `main` and leaves nothing behind, whatever happens. */
export async function withCleanUp(main) {
    const cleanUp = async () => {
        ending = true;
        await Promise.all([...running].map(stop));
        await Promise.all([...folders].map(folder => fs.rm(folder, { recursive: true, force: true })));
    };
    for (const [signal, status] of [['SIGINT', 130], ['SIGTERM', 143]]) {
        process.on(signal, () => cleanUp().finally(() => process.exit(status)));
    }
    try {
        await main();
    } finally {
        await cleanUp();
    }
}
