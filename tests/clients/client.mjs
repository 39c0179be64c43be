// The official TypeScript client against quad: one connection, one line of output a check. The arguments, the checks and the
// output are those of client.py.
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import path from 'node:path';

// The packages lie outside of this folder, where `import` does not look.
const packages = createRequire(path.resolve(import.meta.dirname, '../../.tools/npm/package.json'));
const { Client, StreamableHTTPClientTransport } = packages('@modelcontextprotocol/client');
const { StdioClientTransport } = packages('@modelcontextprotocol/client/stdio');

const [era, kind, target, ...rest] = process.argv.slice(2);
const version = { modern: '2026-07-28', legacy: '2025-11-25' }[era];
const notFound = { modern: -32602, legacy: -32002 }[era];
const invalid = -32602;
const updateMs = 5000;

function expect(condition, otherwise) {
    if (!condition) throw new Error(otherwise);
}

const transport =
    kind === 'stdio'
        ? new StdioClientTransport({ command: target, args: rest })
        : new StreamableHTTPClientTransport(new URL(target), {
              requestInit: { headers: rest.length > 0 ? { Authorization: `Bearer ${rest[0]}` } : {} }
          });
const client = new Client(
    { name: 'quad-check', version: '1.0.0' },
    { versionNegotiation: { mode: era === 'legacy' ? 'legacy' : 'auto' } }
);

// The client turns the legacy code of a missing resource into the modern one, so the codes are taken off the wire.
let lastErrorCode;
function watchErrors() {
    const deliver = transport.onmessage;
    transport.onmessage = (message, extra) => {
        if (message.error !== undefined) lastErrorCode = message.error.code;
        deliver(message, extra);
    };
}

let onUpdate = () => {};
client.setNotificationHandler('notifications/resources/updated', ({ params }) => onUpdate(params.uri));

async function readList(uri) {
    const { contents } = await client.readResource({ uri });
    expect(contents.length === 1, `${contents.length} contents`);
    expect(contents[0].uri === uri, `asked for ${uri}, got ${contents[0].uri}`);
    return JSON.parse(contents[0].text);
}

async function errorCode(uri) {
    lastErrorCode = undefined;
    let result;
    try {
        result = await client.readResource({ uri });
    } catch (error) {
        expect(lastErrorCode !== undefined, error.message);
        return lastErrorCode;
    }
    throw new Error(`${uri} was read: ${JSON.stringify(result)}`);
}

let tables;
let place;

const checks = {
    async connect() {
        const negotiated = client.getNegotiatedProtocolVersion();
        expect(negotiated === version, `negotiated ${negotiated}`);
        return negotiated;
    },

    async 'list resources'() {
        // Without a cursor the client walks all pages itself.
        const uris = (await client.listResources()).resources.map(resource => resource.uri);
        expect(uris.includes('bkend://orgs'), `bkend://orgs is not among ${uris.slice(0, 10)}`);
        expect(new Set(uris).size === uris.length, 'a resource is listed twice');
        return `${uris.length} resources`;
    },

    async 'list templates'() {
        const templates = (await client.listResourceTemplates()).resourceTemplates.map(template => template.uriTemplate);
        for (const template of [
            'bkend://orgs/{orgId}/projects',
            'bkend://orgs/{orgId}/projects/{projectId}/environments',
            'bkend://orgs/{orgId}/projects/{projectId}/environments/{envId}/tables'
        ]) {
            expect(templates.includes(template), `${template} is not among ${templates.slice(0, 10)}`);
        }
        return `${templates.length} templates`;
    },

    async 'walk to the tables'() {
        const organization = (await readList('bkend://orgs'))[0].id;
        const projects = `bkend://orgs/${organization}/projects`;
        const project = (await readList(projects))[0].id;
        const environments = `${projects}/${project}/environments`;
        const environment = (await readList(environments)).find(({ name }) => name === 'dev').id;
        const found = await readList(`${environments}/${environment}/tables`);
        expect(found.length > 0, 'the demo project has no table');
        expect('schema' in found[0], 'a table comes without its schema');
        tables = `${environments}/${environment}/tables`;
        place = { organizationId: organization, projectId: project, environmentId: environment };
        return tables;
    },

    async complete() {
        const { completion } = await client.complete({
            ref: { type: 'ref/resource', uri: 'bkend://orgs/{orgId}/projects' },
            argument: { name: 'orgId', value: place.organizationId.slice(0, 4) }
        });
        expect(completion.values.includes(place.organizationId), `${place.organizationId} is not among ${completion.values}`);
        return `${completion.values.length} values`;
    },

    async 'list tools'() {
        const { tools } = await client.listTools();
        const names = tools.map(tool => tool.name);
        for (const name of ['get_context', 'backend_table_create']) {
            expect(names.includes(name), `${name} is not among ${names}`);
        }
        expect(tools.every(tool => tool.description), 'a tool has no description');
        return `${names.length} tools`;
    },

    async get_context() {
        const result = await client.callTool({ name: 'get_context', arguments: {} });
        expect(!result.isError, `isError: ${JSON.stringify(result.content)}`);
        const { organization } = result.structuredContent;
        expect(organization.id === place.organizationId, `another organization: ${organization.id}`);
        return organization.name;
    },

    async 'bad input'() {
        const result = await client.callTool({ name: 'backend_table_create', arguments: { name: 5 } });
        expect(result.isError === true, `not an error: ${JSON.stringify(result.content)}`);
        return result.structuredContent.error.code;
    },

    async 'missing resource'() {
        const code = await errorCode('bkend://orgs/org_00000000000000000000000000/projects');
        expect(code === notFound, `code ${code}`);
        return `${code}`;
    },

    async 'unknown address'() {
        const code = await errorCode('bkend://nothing/like/this');
        expect(code === invalid, `code ${code}`);
        return `${code}`;
    },

    async subscribe() {
        expect(tables !== undefined, 'the walk did not reach a table list');
        const updated = new Promise(resolve => (onUpdate = resolve));
        let subscription;
        if (era === 'modern') {
            subscription = await client.listen({ resourceSubscriptions: [tables] });
            const honored = subscription.honoredFilter.resourceSubscriptions ?? [];
            expect(honored.includes(tables), `acknowledged only ${honored}`);
        } else {
            await client.subscribeResource({ uri: tables });
        }
        const name = `check_${randomUUID().replaceAll('-', '').slice(0, 12)}`;
        const fields = [{ name: 'title', type: 'string', required: true }];
        const result = await client.callTool({ name: 'backend_table_create', arguments: { ...place, name, fields } });
        expect(!result.isError, `backend_table_create: ${JSON.stringify(result.content)}`);
        const late = new Promise((_, reject) =>
            setTimeout(() => reject(new Error(`nothing within ${updateMs / 1000} s`)), updateMs).unref()
        );
        const uri = await Promise.race([updated, late]);
        expect(uri === tables, `told of ${uri}`);
        const names = (await readList(tables)).map(table => table.name);
        expect(names.includes(name), `${name} is not among ${names} after the notification`);
        await subscription?.close();
        return name;
    }
};

await client.connect(transport, { timeout: 10_000 });
watchErrors();
for (const [name, body] of Object.entries(checks)) {
    let line;
    try {
        line = ['pass', name, await body()];
    } catch (error) {
        line = ['fail', name, `${error.message}`.replaceAll(/\s+/g, ' ')];
    }
    console.log(line.join('\t'));
}
if (kind === 'http' && era === 'legacy') await transport.terminateSession();
await client.close();
