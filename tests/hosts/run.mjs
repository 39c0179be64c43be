// Starts the programs that people use quad with, each with `quad stdio` as its MCP server, and checks what reaches the provider.
//
//   run.mjs [HOST…]    every host, or those named: claude-code, codex, gemini-cli, opencode
//
// A stand-in answers in the place of the provider. Everything runs in a network namespace with loopback alone, so no provider
// can be contacted. The tools in the first request are compared with the list that quad publishes and with the provider's
// documentation; then the stand-in calls one tool that succeeds and one that quad refuses. The last lines sum up each host.
import fs from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { finish, places, report, run, tail, temporaryFolder, withCleanUp } from '../harness.mjs';
import { check, checkCalls, checkInstructions, checkTools } from './checks.mjs';
import { commandOf, hosts, missing } from './hosts.mjs';
import { isIsolated, reachable, runIsolated } from './isolation.mjs';
import { checkLogs } from './logs.mjs';
import { published } from './quad.mjs';
import { lastWords, startStandIn } from './stand_in.mjs';

const secondsForEach = 120;
const limits = { tools: 45, tokens: 7000 };
const words = process.argv.slice(2);
const wanted = hosts.filter(({ name }) => words.length === 0 || words.includes(name));
const overview = [];

const publishedForm = ({ name, description, schema }) => JSON.stringify({ name, description, inputSchema: schema });

/** Counts the tokens of a list of tools: name, description and input schema, as compact JSON, in the encoding o200k. */
async function tokenCounter() {
    const file = path.join(places.root, '.tools/hosts/node_modules/gpt-tokenizer/esm/encoding/o200k_base.js');
    const { countTokens } = await import(pathToFileURL(file));
    return tools => tools.reduce((sum, tool) => sum + countTokens(publishedForm(tool)), 0);
}

async function drive(host, program, { tools, instructions }, tokens) {
    const reason = missing(host);
    const label = `${host.name} ${host.version() ?? ''}`.trim();
    if (reason) {
        report('skip', label, reason);
        return;
    }
    const folder = await temporaryFolder();
    const data = path.join(folder, 'data');
    const standIn = await startStandIn();
    try {
        const quad = { command: program, args: ['stdio', '--data-dir', data] };
        const command = commandOf(host, folder, { url: standIn.url, quad });
        // A namespace for the host's processes: when the host ends, or its time does, so do they.
        const outcome = await run('unshare', ['--pid', '--fork', '--kill-child', '--mount-proc', ...command], secondsForEach);
        const { stdout, stderr, status, late } = outcome;
        const ended = late ? `does not end within ${secondsForEach} s` : `exit status ${status}`;
        const said = stdout.includes(lastWords);
        check(`${label}: starts, answers the prompt and ends`,
            status === 0 && said ? [] : [`${ended}: ${tail(stderr || stdout)}`], `${standIn.turns.length} requests`);
        if (standIn.turns.length === 0) {
            check(`${label}: sends tools of quad`, [`other requests: ${standIn.others.join(', ') || 'none'}`]);
            return;
        }
        const { arrived, names, schemas } = checkTools(label, host, standIn.turns[0].tools, tools);
        checkInstructions(label, standIn.turns[0].body, instructions);
        checkCalls(label, standIn.turns, program, data);
        const complaints = checkLogs(label, host, folder, stderr);
        const word = good => (good ? 'accepted' : 'REFUSED');
        overview.push(
            `${label}: ${arrived.length} of ${tools.length} tools, names ${word(names)}, schemas ${word(schemas)}, ` +
                `${complaints} complaints in its logs, ${tokens(arrived)} tokens as sent`
        );
    } finally {
        standIn.stop();
    }
}

async function main() {
    // Other builds may replace the binary during the run.
    const folder = await temporaryFolder();
    const program = path.join(folder, 'quad');
    await fs.copyFile(places.quad, program);
    const found = await reachable();
    if (!check('nothing but loopback can be reached', found ? [found] : [])) return;
    const server = published(program, path.join(folder, 'data'));
    const count = server.tools.length;
    const tokens = await tokenCounter();
    const list = server.tools.map(tool => ({ ...tool, schema: tool.inputSchema }));
    const total = tokens(list);
    const bytes = list.reduce((sum, tool) => sum + Buffer.byteLength(publishedForm(tool)), 0);
    const over = (value, limit, what) => (value > limit ? [`${value} ${what}, ${value - limit} too many`] : []);
    check(`the default list has at most ${limits.tools} tools`, over(count, limits.tools, 'tools'), `${count}`);
    check(`the default list takes at most ${limits.tokens} tokens`, over(total, limits.tokens, 'tokens'), `${total}, ${bytes} bytes`);
    for (const host of wanted) {
        await drive(host, program, server, tokens).catch(error => report('fail', host.name, error.stack));
    }
    for (const line of overview) console.log(`     ${line}`);
}

await withCleanUp(async () => {
    const unknown = words.filter(word => !hosts.some(({ name }) => name === word));
    if (unknown.length > 0) {
        report('fail', `no such host: ${unknown.join(', ')}`, `one of ${hosts.map(({ name }) => name).join(', ')}`);
        finish();
    } else if (isIsolated) {
        await main();
        finish();
    } else {
        const { reason, status } = await runIsolated(import.meta.filename, words, await temporaryFolder());
        if (!reason) {
            process.exitCode = status;
            return;
        }
        // Outside of a namespace the hosts could reach other machines, so they are not started at all.
        report('fail', 'the hosts run without network', reason);
        finish();
    }
});
