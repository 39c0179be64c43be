// Starts the programs that people use quad with, each with `quad stdio` as its MCP server, and checks what reaches the provider.
//
//   run.mjs [HOST…]    every host, or those named: claude-code, codex, gemini-cli, opencode
//
// A stand-in answers in the place of the provider. Everything runs in a network namespace with loopback alone, so no provider
// can be contacted. The tools in the first request are held against the list that quad publishes and against the provider's
// documentation; then the stand-in calls one tool that succeeds and one that quad refuses.
import fs from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { finish, places, report, run, tail, temporaryFolder, withCleanUp } from '../harness.mjs';
import { commandOf, hosts, missing } from './hosts.mjs';
import { isIsolated, reachable, runIsolated } from './isolation.mjs';
import { callTools, published } from './quad.mjs';
import { providers, schemaFaults } from './rules.mjs';
import { lastWords, script, startStandIn } from './stand_in.mjs';

const secondsForEach = 120;
const limits = { tools: 45, tokens: 7000 };
const words = process.argv.slice(2);
const wanted = hosts.filter(({ name }) => words.length === 0 || words.includes(name));

/** A check that passes if there is no fault; the first faults are shown. */
function check(name, faults, detail = '') {
    const shown = faults.slice(0, 6).join('; ') + (faults.length > 6 ? `; and ${faults.length - 6} more` : '');
    return report(faults.length ? 'fail' : 'pass', name, faults.length ? shown : detail);
}

/** The tokens of a list of tools: name, description and input schema, as compact JSON, in the encoding o200k. */
async function tokenCounter() {
    const file = path.join(places.root, '.tools/hosts/node_modules/gpt-tokenizer/esm/encoding/o200k_base.js');
    const { countTokens } = await import(pathToFileURL(file));
    return tools =>
        tools.reduce((sum, { name, description, schema }) =>
            sum + countTokens(JSON.stringify({ name, description, inputSchema: schema })), 0);
}

const portable = name => name.replaceAll(/[^a-zA-Z0-9_-]/g, '_');
// Hosts write an ellipsis as three dots, and the other way round; escapes of JSON in JSON do not matter either.
const plain = text => text.normalize('NFKC').replaceAll('\\', '');

/** Holds the tools of a request against those that quad publishes. Returns those of quad, as they were sent. */
function checkTools(label, host, sent, tools) {
    const provider = providers[host.provider];
    const fullName = tool => (tool.namespace ? `${tool.namespace}__${tool.name}` : tool.name);
    const ours = sent.filter(tool => fullName(tool).startsWith(host.prefix));
    const pairs = tools.map(tool => {
        const name = host.prefix + tool.name;
        return { tool, name, sent: ours.find(other => portable(fullName(other)) === portable(name)) };
    });
    const arrived = pairs.filter(pair => pair.sent);
    const absent = pairs.filter(pair => !pair.sent).map(({ tool }) => `${tool.name} is not sent`);
    check(`${label}: every default tool arrives`, absent, `${arrived.length} of ${tools.length}`);
    const changed = arrived
        .filter(pair => fullName(pair.sent) !== pair.name)
        .map(pair => `${pair.tool.name} becomes ${fullName(pair.sent)}`);
    const refused = arrived
        .flatMap(pair => [pair.sent.name, pair.sent.namespace ?? pair.sent.name])
        .filter(name => !provider.name.test(name))
        .map(name => `${name} is refused`);
    const longest = Math.max(0, ...arrived.map(pair => fullName(pair.sent).length));
    check(`${label}: names are accepted and not changed`, [...new Set([...refused, ...changed])], `longest has ${longest} characters`);
    const cut = arrived
        .filter(pair => !plain(pair.sent.description ?? '').includes(plain(pair.tool.description)))
        .map(({ tool }) => `the description of ${tool.name} is not whole`);
    check(`${label}: descriptions arrive whole`, cut);
    const faults = arrived.flatMap(pair => schemaFaults({ ...pair.sent, name: pair.tool.name }, provider));
    check(`${label}: schemas are accepted by ${host.provider}`, faults);
    return arrived.map(pair => pair.sent);
}

/** Each line of the instructions must be somewhere in the request: hosts put them into the prompt or beside the tools. */
function checkInstructions(label, body, instructions) {
    const text = plain(JSON.stringify(body));
    const lost = instructions.split('\n').filter(line => !text.includes(plain(line)));
    check(`${label}: instructions arrive whole`, lost.map(line => `not sent: ${tail(line, 80)}`), `${instructions.length} characters`);
}

/** The two calls of the script: what the host gives the model must be what quad gives the host. */
function checkCalls(label, turns, program, data) {
    const [listed, refused] = callTools(program, data, script);
    const received = turns.at(-1).results;
    const [good = '', bad = ''] = received.map(plain);
    const id = listed.structuredContent.items[0].id;
    check(`${label}: the result of a tool call comes back`, good.includes(id) ? [] : [`no ${id} in: ${tail(good, 200)}`], id);
    const { message, hint } = refused.structuredContent.error;
    const lost = [message, hint].filter(text => text && !bad.includes(plain(text)));
    check(`${label}: the error of a refused call comes back`, lost.map(text => `no "${text}" in: ${tail(bad, 200)}`), message);
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
        const sent = checkTools(label, host, standIn.turns[0].tools, tools);
        checkInstructions(label, standIn.turns[0].body, instructions);
        checkCalls(label, standIn.turns, program, data);
        console.log(`     ${label}: ${sent.length} tools of quad take ${tokens(sent)} tokens as they are sent`);
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
    const total = tokens(server.tools.map(tool => ({ ...tool, schema: tool.inputSchema })));
    const over = (value, limit, what) => (value > limit ? [`${value} ${what}, ${value - limit} too many`] : []);
    check(`the default list has at most ${limits.tools} tools`, over(count, limits.tools, 'tools'), `${count}`);
    check(`the default list takes at most ${limits.tokens} tokens`, over(total, limits.tokens, 'tokens'), `${total}`);
    for (const host of wanted) {
        await drive(host, program, server, tokens).catch(error => report('fail', host.name, error.stack));
    }
}

await withCleanUp(async () => {
    if (isIsolated) {
        await main();
        finish();
        return;
    }
    const { reason, status } = await runIsolated(import.meta.filename, words, await temporaryFolder());
    if (reason) {
        for (const host of wanted) report('skip', host.name, reason);
        finish();
    } else {
        process.exitCode = status;
    }
});
