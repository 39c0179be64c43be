// Drives quad with the clients that people use: each official client, over HTTP and stdio, in the protocol eras that it speaks.
//
//   run.mjs [WORD…]    every combination, or those whose name holds every WORD, such as `python stdio`
//
// Each era has a data directory of its own, which the stdio processes share with the HTTP server that runs on it, as the
// clients on one machine do. With QUAD_TEST_POSTGRES_URL the two libraries also meet a server on PostgreSQL. The eras run side by
// side; within one the clients take turns, so that a notification can only come from the client's own write.
import path from 'node:path';
import { randomUUID } from 'node:crypto';
import { finish, places, report, run, showLog, startServer, tail, temporaryFolder, withCleanUp } from '../harness.mjs';

const here = import.meta.dirname;
const common = [
    'connect', 'list resources', 'list templates', 'walk to the tables', 'list tools', 'get_context', 'bad input',
    'missing resource', 'unknown address'
];
const clients = {
    python: { command: places.python, script: path.join(here, 'client.py'), checks: [...common, 'complete', 'subscribe'] },
    typescript: { command: places.node, script: path.join(here, 'client.mjs'), checks: [...common, 'complete', 'subscribe'] },
    'typescript-1': {
        command: places.node, script: path.join(here, 'client_1.mjs'), eras: ['legacy'],
        checks: ['connect', 'list tools', 'get_context', 'not found', 'failed call of each tool']
    },
    inspector: { command: places.node, script: path.join(here, 'inspector.mjs'), checks: [...common, 'create a table'] }
};
const eras = ['modern', 'legacy'];
const scopes = 'organization:read project:* environment:* table:* table:data:*';
const words = process.argv.slice(2);

/** Runs one client once and reports each of its checks; one that it did not reach has failed. */
async function drive(client, transport, era, server, target) {
    const name = `${client} ${transport} ${era}`;
    if (!words.every(word => name.split(' ').includes(word))) return;
    const { command, script, checks, eras: spoken = eras } = clients[client];
    if (!spoken.includes(era)) return;
    const { stdout, stderr, status, late } = await run(command, [script, era, ...target], 120);
    const lines = stdout.split('\n').map(line => line.split('\t'));
    let good = true;
    for (const check of checks) {
        const [outcome, , detail] = lines.find(([, reported]) => reported === check) ?? [
            'fail', check, late ? 'not reached within two minutes' : `not reached, exit status ${status}: ${tail(stderr)}`
        ];
        good = report(outcome, `${name}: ${check}`, detail) && good;
    }
    if (!good && transport !== 'stdio') showLog(server);
}

async function succeed(command, args) {
    const { stdout, stderr, status } = await run(command, args);
    if (status !== 0) throw new Error(`${path.basename(command)} ${args[0]}: ${tail(stderr)}`);
    return stdout.trim();
}

/** A new database beside the one that the URL names. */
async function createDatabase(url) {
    const name = `clients_${randomUUID().replaceAll('-', '')}`;
    const programs = await succeed(path.join(places.root, 'tests/postgres.sh'), ['bin']);
    await succeed(path.join(programs, 'psql'), [url, '--no-psqlrc', '--quiet', '--command', `CREATE DATABASE ${name}`]);
    const address = new URL(url);
    address.pathname = `/${name}`;
    return address.href;
}

async function onSqlite(era) {
    const data = await temporaryFolder();
    const server = await startServer(places.quad, address => ['serve', '--listen', address, '--data-dir', data]);
    const token = await succeed(places.quad, [
        'token', 'mint', '--data-dir', data, '--tenant', 'local', '--subject', 'checks', '--kind', 'agent', '--scope', scopes
    ]);
    for (const client of Object.keys(clients)) {
        await drive(client, 'http', era, server, ['http', server.url, token]);
        await drive(client, 'stdio', era, server, ['stdio', places.quad, 'stdio', '--data-dir', data]);
    }
    await server.stop();
}

async function onPostgres(era) {
    if (!process.env.QUAD_TEST_POSTGRES_URL) {
        report('skip', `postgres ${era}`, 'QUAD_TEST_POSTGRES_URL is not set');
        return;
    }
    const database = await createDatabase(process.env.QUAD_TEST_POSTGRES_URL);
    const data = await temporaryFolder();
    const server = await startServer(places.quad, address => [
        'serve', '--listen', address, '--data-dir', data, '--database-url', database, '--no-auth'
    ]);
    for (const client of ['python', 'typescript']) await drive(client, 'postgres', era, server, ['http', server.url]);
    await server.stop();
}

await withCleanUp(async () => {
    await Promise.all(
        eras.map(async era => {
            await onSqlite(era).catch(error => report('fail', `sqlite ${era}`, error.message));
            await onPostgres(era).catch(error => report('fail', `postgres ${era}`, error.message));
        })
    );
    finish();
});
