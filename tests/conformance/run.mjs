// Runs the MCP conformance suite, each revision with the failures that we expect of it in a file beside this one.
//
//   run.mjs [WORD…]    everything, or the runs whose name holds every WORD, such as `product 2026-07-28`
//
// The suite asks for tools, prompts and resources that no real server has. So it runs twice: against quad's example
// `conformance`, which serves those fixtures through the same stack, the whole requirement set of a revision; and against
// `quad serve`, as it is shipped, the scenarios that need no fixtures.
//
// The suite itself judges: with a file of expected failures its exit status is 1 for a failure or a warning that the file
// does not name, and also for an entry that no longer fails.
import fs from 'node:fs/promises';
import path from 'node:path';
import { finish, places, report, run, showLog, startServer, tail, temporaryFolder, withCleanUp } from '../harness.mjs';

const suite = path.join(places.npm, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
const fixtures = path.join(path.dirname(places.quad), 'examples/conformance');
const words = process.argv.slice(2);

const withoutFixtures = {
    '2026-07-28': [
        'server-stateless', 'resources-list', 'sep-2164-resource-not-found', 'caching', 'tools-list', 'prompts-list',
        'server-sse-multiple-streams', 'dns-rebinding-protection', 'http-header-validation',
        'input-required-result-unsupported-methods'
    ],
    '2025-11-25': [
        'server-initialize', 'ping', 'resources-list', 'tools-list', 'prompts-list', 'server-sse-multiple-streams',
        'dns-rebinding-protection', 'server-session-lifecycle'
    ]
};

/**
 * One run of the suite: the checks of each scenario that it ran, and its verdict. An entry of the verdict's lists is a
 * scenario or, after a colon, one check of it.
 */
async function conformance(url, name, ...options) {
    const baseline = path.join(import.meta.dirname, `${name.replace(' ', '-')}.yml`);
    const folder = await temporaryFolder();
    const args = [suite, 'server', '--url', url, '--expected-failures', baseline, '--output-dir', folder, ...options];
    const { stdout, stderr, status } = await run(places.node, args, 300);
    const ran = new Map();
    for (const entry of await fs.readdir(folder)) {
        const [, scenario] = /^server-(.+)-\d{4}-\d{2}-\d{2}T/.exec(entry);
        // Without checks the scenario was skipped.
        const checks = await fs.readFile(path.join(folder, entry, 'checks.json'), 'utf8').catch(() => undefined);
        if (checks !== undefined) ran.set(scenario, JSON.parse(checks));
    }
    const plain = stdout.replaceAll(/\u001B\[[0-9;]*m/g, '');
    const listed = title => {
        const [, ...lines] = (plain.split('\n\n').find(part => part.startsWith(title)) ?? '').split('\n');
        return lines.map(line => line.trim().slice(2));
    };
    return {
        ran,
        expected: listed('Expected failures (in baseline)'),
        stale: listed('Stale baseline entries'),
        unexpected: listed('Unexpected failures (not in baseline)'),
        status,
        said: tail(`${plain}\n${stderr}`)
    };
}

/** Reports one scenario, and tells whether it is as it should be. */
function judge(name, scenario, verdict) {
    const check = `${name}: ${scenario}`;
    const entries = list => list.filter(entry => entry === scenario || entry.startsWith(`${scenario}:`));
    const checks = verdict.ran.get(scenario);
    const stale = entries(verdict.stale);
    const excused = entries(verdict.expected).map(entry => entry.slice(scenario.length + 1));
    if (checks === undefined) return report('fail', check, `not run: ${verdict.said}`);
    if (entries(verdict.unexpected).length > 0) {
        const bad = checks.filter(({ id, status }) => ['FAILURE', 'WARNING'].includes(status) && !excused.includes(id));
        return report('fail', check, tail(bad.map(({ id, errorMessage }) => `${id}: ${errorMessage}`).join('\n')));
    }
    if (stale.length > 0) return report('fail', check, `passes now, so it is no longer an expected failure: ${stale.join(', ')}`);
    if (verdict.expected.includes(scenario)) return report('skip', check, 'expected to fail');
    return report('pass', check, excused.length > 0 ? `but for ${excused.join(', ')}` : `${checks.length} checks`);
}

/** The scenarios that count for a revision. The suite runs some others too, and only tells of them. */
async function scored(revision) {
    const { stdout } = await run(places.node, [suite, 'list', '--requirements', revision]);
    const [, list = ''] = stdout.split('Server scenarios (test against a server):\n');
    return list.split('\n\n')[0].split('\n').map(line => line.replace(/^ *- /, ''));
}

/** Judges the scenarios of one run of the suite, whose exit status says the same as its lists, or we have read them wrongly. */
function judgeAll(name, scenarios, verdict) {
    const good = scenarios.map(scenario => judge(name, scenario, verdict)).every(Boolean);
    if (good && verdict.status !== 0) return report('fail', name, `exit status ${verdict.status}: ${verdict.said}`);
    return good;
}

async function onFixtures(revision) {
    const name = `fixtures ${revision}`;
    const server = await startServer(fixtures, address => ['--listen', address]);
    const verdict = await conformance(server.url, name, '--requirements', revision);
    if (!judgeAll(name, await scored(revision), verdict)) showLog(server);
    await server.stop();
}

async function onProduct(revision) {
    const name = `product ${revision}`;
    const data = await temporaryFolder();
    const server = await startServer(places.quad, address => ['serve', '--listen', address, '--data-dir', data, '--no-auth']);
    for (const scenario of withoutFixtures[revision]) {
        const verdict = await conformance(server.url, name, '--scenario', scenario, '--spec-version', revision);
        if (!judgeAll(name, [scenario], verdict)) showLog(server);
    }
    await server.stop();
}

await withCleanUp(async () => {
    await Promise.all(
        Object.keys(withoutFixtures).map(async revision => {
            for (const [kind, lane] of [['fixtures', onFixtures], ['product', onProduct]]) {
                if (!words.every(word => [kind, revision].includes(word))) continue;
                await lane(revision).catch(error => report('fail', `${kind} ${revision}`, error.message));
            }
        })
    );
    finish();
});
