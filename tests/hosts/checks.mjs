// The checks of what a host sends: its tools against those that quad publishes and against the rules of its provider, the
// instructions, and the results of calls against what quad answers.
import { report, tail } from '../harness.mjs';
import { callTools } from './quad.mjs';
import { providers, schemaFaults } from './rules.mjs';
import { script } from './stand_in.mjs';

/** A check that passes if there is no fault; the first faults are shown. */
export function check(name, faults, detail = '') {
    const shown = faults.slice(0, 6).join('; ') + (faults.length > 6 ? `; and ${faults.length - 6} more` : '');
    return report(faults.length ? 'fail' : 'pass', name, faults.length ? shown : detail);
}

const portable = name => name.replaceAll(/[^a-zA-Z0-9_-]/g, '_');
// Hosts write an ellipsis as three dots, and the other way round; escapes of JSON in JSON do not matter either.
const plain = text => text.normalize('NFKC').replaceAll('\\', '');

const lostArguments = (tool, schema) =>
    Object.keys(tool.inputSchema.properties ?? {})
        .filter(name => !schema?.properties?.[name])
        .map(name => `${tool.name} loses its argument ${name}`);

/** Compares the tools of a request with those that quad publishes. Gives those of quad as sent, and the results of two checks. */
export function checkTools(label, host, sent, tools) {
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
    const names = check(
        `${label}: names are accepted and not changed`, [...new Set([...refused, ...changed])], `longest has ${longest} characters`
    );
    const cut = arrived
        .filter(pair => !plain(pair.sent.description ?? '').includes(plain(pair.tool.description)))
        .map(({ tool }) => `the description of ${tool.name} is not whole`);
    check(`${label}: descriptions arrive whole`, cut);
    const faults = arrived.flatMap(pair => [
        ...lostArguments(pair.tool, pair.sent.schema),
        ...schemaFaults({ ...pair.sent, name: pair.tool.name }, provider)
    ]);
    const schemas = check(`${label}: schemas are accepted by ${host.provider}`, faults);
    return { arrived: arrived.map(pair => pair.sent), names, schemas };
}

/** Each line of the instructions must be somewhere in the request: hosts put them into the prompt or beside the tools. */
export function checkInstructions(label, body, instructions) {
    const text = plain(JSON.stringify(body));
    const lost = instructions.split('\n').filter(line => !text.includes(plain(line)));
    check(`${label}: instructions arrive whole`, lost.map(line => `not sent: ${tail(line, 80)}`), `${instructions.length} characters`);
}

/** The two calls of the script: what the host gives the model must be what quad gives the host. */
export function checkCalls(label, turns, program, data) {
    const [listed, refused] = callTools(program, data, script);
    const received = turns.at(-1).results;
    const [good = '', bad = ''] = received.map(plain);
    const id = listed.structuredContent.items[0].id;
    check(`${label}: the result of a tool call comes back`, good.includes(id) ? [] : [`no ${id} in: ${tail(good, 200)}`], id);
    const { message, hint } = refused.structuredContent.error;
    const lost = [message, hint].filter(text => text && !bad.includes(plain(text)));
    check(`${label}: the error of a refused call comes back`, lost.map(text => `no "${text}" in: ${tail(bad, 200)}`), message);
}
