// Asks quad itself what it publishes and answers, over stdio, without a client library: what a host sends is compared with this.
import { spawnSync } from 'node:child_process';

/** Sends `initialize` and one line for each request, and gives the results in the same order. */
function ask(program, data, requests) {
    const initialize = {
        method: 'initialize',
        params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'hosts', version: '0' } }
    };
    const lines = [initialize, ...requests].map((request, id) => JSON.stringify({ jsonrpc: '2.0', id, ...request }));
    lines.splice(1, 0, JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }));
    const { stdout, stderr, status, error } = spawnSync(program, ['stdio', '--data-dir', data], {
        input: `${lines.join('\n')}\n`, encoding: 'utf8', timeout: 60_000, maxBuffer: 64 * 1024 * 1024
    });
    if (error || status !== 0) throw new Error(`quad stdio: ${error?.message ?? stderr}`);
    const replies = stdout.trim().split('\n').map(line => JSON.parse(line));
    return [initialize, ...requests].map((_, index) => {
        const reply = replies.find(({ id }) => id === index);
        if (!reply?.result) throw new Error(`quad stdio: ${JSON.stringify(reply?.error ?? 'no reply')}`);
        return reply.result;
    });
}

/** The tools of the default list, all of its pages, and the instructions. */
export function published(program, data) {
    const tools = [];
    let instructions;
    let cursor;
    do {
        const [server, page] = ask(program, data, [{ method: 'tools/list', params: cursor ? { cursor } : {} }]);
        instructions = server.instructions;
        tools.push(...page.tools);
        cursor = page.nextCursor;
    } while (cursor);
    return { tools, instructions };
}

/** The results of tool calls, one for each `{ tool, arguments }`. */
export function callTools(program, data, calls) {
    const requests = calls.map(call => ({ method: 'tools/call', params: { name: call.tool, arguments: call.arguments } }));
    return ask(program, data, requests).slice(1);
}
