// The official TypeScript client of the 1.x line against quad, which many programs still embed: one connection, one line of output
// a check. It validates `structuredContent` against the output schema also if a call failed, and throws if the two differ: then a
// model sees "does not match the tool's output schema" in the place of the message. The arguments and the output are those of
// client.py.
import { createRequire } from 'node:module';
import path from 'node:path';

// The packages lie outside of this folder, where `import` does not look.
const packages = createRequire(path.resolve(import.meta.dirname, '../../.tools/npm/package.json'));
const { Client } = packages('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = packages('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = packages('@modelcontextprotocol/sdk/client/streamableHttp.js');

const [, kind, target, ...rest] = process.argv.slice(2);

function expect(condition, otherwise) {
    if (!condition) throw new Error(otherwise);
}

const transport =
    kind === 'stdio'
        ? new StdioClientTransport({ command: target, args: rest })
        : new StreamableHTTPClientTransport(new URL(target), {
              requestInit: { headers: rest.length > 0 ? { Authorization: `Bearer ${rest[0]}` } : {} }
          });
const client = new Client({ name: 'quad-check', version: '1.0.0' });

/** The pages of the tool list. The client knows the output schemas of the last page that it has read. */
async function* pages() {
    let cursor;
    do {
        const page = await client.listTools(cursor ? { cursor } : {});
        yield page.tools;
        cursor = page.nextCursor;
    } while (cursor);
}

/** The error of a call that must fail: code, message and hint, the latter two also in the text, which is JSON. */
async function failure(name, args) {
    const result = await client.callTool({ name, arguments: args });
    expect(result.isError === true, `${name}: not an error: ${JSON.stringify(result.content)}`);
    const { error } = result.structuredContent;
    const text = result.content.map(block => block.text).join('\n');
    for (const part of [error.message, error.hint ?? '']) {
        const written = JSON.stringify(part).slice(1, -1);
        expect(text.includes(written), `${name}: "${part}" is not in the text: ${text}`);
    }
    expect(error.message, `${name}: no message: ${text}`);
    return error;
}

const checks = {
    async connect() {
        const { name, version } = client.getServerVersion();
        expect(name === 'quadrivium', `the server is ${name}`);
        return version;
    },

    async 'list tools'() {
        const tools = [];
        for await (const page of pages()) tools.push(...page);
        const without = tools.filter(tool => !tool.outputSchema).map(tool => tool.name);
        expect(tools.some(tool => tool.name === 'get_context'), 'get_context is not listed');
        expect(without.length === 0, `no output schema: ${without}`);
        return `${tools.length} tools`;
    },

    async get_context() {
        const result = await client.callTool({ name: 'get_context', arguments: {} });
        expect(!result.isError, `isError: ${JSON.stringify(result.content)}`);
        return result.structuredContent.organization.name;
    },

    async 'not found'() {
        const { code, message } = await failure('backend_table_get', { tableId: 'no_such_table' });
        return `${code}: ${message}`;
    },

    async 'failed call of each tool'() {
        let calls = 0;
        for await (const page of pages()) {
            for (const { name } of page) {
                await failure(name, { no_such_argument: true });
                calls += 1;
            }
        }
        return `${calls} tools`;
    }
};

await client.connect(transport, { timeout: 10_000 });
for (const [name, body] of Object.entries(checks)) {
    let line;
    try {
        line = ['pass', name, await body()];
    } catch (error) {
        line = ['fail', name, `${error.message}`.replaceAll(/\s+/g, ' ')];
    }
    console.log(line.join('\t'));
}
if (kind === 'http') await transport.terminateSession();
await client.close();
