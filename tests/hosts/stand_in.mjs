// A server in the place of the provider: records every request and answers from a short script, the same for each API. The
// script depends on the conversation alone, so a repeated request gets the same answer.
import http from 'node:http';
import { once } from 'node:events';
import zlib from 'node:zlib';
import { adapters } from './providers.mjs';

/** What the stand-in says when the script is at its end, and to every request that carries none of quad's tools. */
export const lastWords = 'The stand-in has nothing to add.';

/** The calls of the script, by the name that quad publishes: one that succeeds, and one that quad refuses. */
export const script = [
    { tool: 'backend_table_list', arguments: {} },
    { tool: 'backend_table_get', arguments: { tableId: 'tbl_none' } }
];

/** The tool of a list whose name ends in `name`: each host puts a prefix of its own before it. */
export function findTool(tools, name) {
    return tools.find(tool => `_${tool.name}`.endsWith(`_${name}`));
}

function nextAction(tools, results, id) {
    const step = script[results.length];
    const tool = step && findTool(tools, step.tool);
    return tool ? { id, call: { ...tool, arguments: step.arguments } } : { id, say: lastWords };
}

async function bodyOf(request) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    const decode = { gzip: zlib.gunzipSync, br: zlib.brotliDecompressSync, zstd: zlib.zstdDecompressSync };
    const text = (decode[request.headers['content-encoding']]?.(bytes) ?? bytes).toString();
    try {
        return JSON.parse(text || '{}');
    } catch {
        return {};
    }
}

/**
 * Starts a stand-in on a free loopback port. `turns` holds the requests to a model that list tools of quad; `others` holds
 * method and path of every further request, such as a list of models.
 */
export async function startStandIn() {
    const turns = [];
    const others = [];
    const server = http.createServer(async (request, response) => {
        const path = new URL(request.url, 'http://stand-in').pathname;
        const body = await bodyOf(request);
        const adapter = request.method === 'POST' && adapters.find(({ handles }) => handles(path));
        if (!adapter) {
            others.push(`${request.method} ${path}`);
            response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"not served"}}');
            return;
        }
        const tools = adapter.tools(body);
        const results = adapter.results(body);
        if (findTool(tools, script[0].tool)) turns.push({ body, tools, results });
        else others.push(`${request.method} ${path} without tools of quad`);
        const { type, text } = adapter.reply(nextAction(tools, results, `call_${results.length}`), body, path);
        response.writeHead(200, { 'content-type': type }).end(text);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return {
        url: `http://127.0.0.1:${server.address().port}`,
        turns,
        others,
        stop() {
            server.closeAllConnections();
            server.close();
        }
    };
}
