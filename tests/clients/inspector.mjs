// The MCP Inspector's command line against quad: one process and one connection a request, one line of output a check. The
// arguments and the output are those of client.py. The Inspector has no completion and no subscription, and hides error codes.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

const launcher = path.resolve(
    import.meta.dirname,
    '../../.tools/npm/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js'
);
const [era, kind, target, ...rest] = process.argv.slice(2);
const version = { modern: '2026-07-28', legacy: '2025-11-25' }[era];
const toolError = 5;

// Its settings and its log stay out of the user's home.
const home = await fs.mkdtemp(path.join(os.tmpdir(), 'quad-inspector-'));
const config = path.join(home, 'servers.json');
const server =
    kind === 'stdio'
        ? { type: 'stdio', command: target, args: rest }
        : { type: 'streamable-http', url: target, headers: rest.length > 0 ? { Authorization: `Bearer ${rest[0]}` } : {} };
await fs.writeFile(config, JSON.stringify({ mcpServers: { quad: { ...server, protocolEra: era } } }));

function expect(condition, otherwise) {
    if (!condition) throw new Error(otherwise);
}

/** One request. The answer is the result, and the exit status if it is not 0. */
function inspect(method, ...options) {
    const args = [launcher, '--cli', '--config', config, '--server', 'quad', '--stored-auth-only', '--quiet'];
    args.push('--format', 'json', '--method', method, ...options);
    const environment = { ...process.env, HOME: home, MCP_INSPECTOR_SECRET_STORE: 'memory' };
    return new Promise((resolve, reject) => {
        execFile(process.execPath, args, { env: environment, timeout: 30_000 }, (error, stdout, stderr) => {
            if (error && typeof error.code !== 'number') return reject(error);
            let answer = { result: undefined };
            try {
                answer = JSON.parse(stdout);
            } catch {
                // No result: the status and what it said on stderr tell why.
            }
            resolve({ status: error?.code ?? 0, result: answer.result, said: stderr.trim() });
        });
    });
}

async function succeed(method, ...options) {
    const { status, result, said } = await inspect(method, ...options);
    expect(status === 0, `exit status ${status}: ${said}`);
    return result;
}

async function readList(uri) {
    const { contents } = await succeed('resources/read', '--uri', uri);
    expect(contents.length === 1 && contents[0].uri === uri, `asked for ${uri}, got ${contents.map(content => content.uri)}`);
    return JSON.parse(contents[0].text);
}

async function refused(uri) {
    const { status, said } = await inspect('resources/read', '--uri', uri);
    expect(status === 1, `exit status ${status}: ${said}`);
    return JSON.parse(said.split('\n').at(-1)).error.message;
}

let tables;
let place;

const checks = {
    async connect() {
        const { protocolVersion } = await succeed('initialize');
        expect(protocolVersion === version, `negotiated ${protocolVersion}`);
        return protocolVersion;
    },

    async 'list resources'() {
        const uris = (await succeed('resources/list')).resources.map(resource => resource.uri);
        expect(uris.includes('bkend://orgs'), `bkend://orgs is not among ${uris.slice(0, 10)}`);
        return `${uris.length} resources`;
    },

    async 'list templates'() {
        const templates = (await succeed('resources/templates/list')).resourceTemplates.map(({ uriTemplate }) => uriTemplate);
        const template = 'bkend://orgs/{orgId}/projects';
        expect(templates.includes(template), `${template} is not among ${templates.slice(0, 10)}`);
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
        tables = `${environments}/${environment}/tables`;
        place = { organizationId: organization, projectId: project, environmentId: environment };
        return tables;
    },

    async 'list tools'() {
        // `--strict` fails on a schema that some client cannot use.
        const names = (await succeed('tools/list', '--strict')).tools.map(tool => tool.name);
        expect(names.includes('get_context'), `get_context is not among ${names}`);
        return `${names.length} tools`;
    },

    async get_context() {
        const { structuredContent } = await succeed('tools/call', '--tool-name', 'get_context');
        expect(structuredContent.organization.id === place.organizationId, `another organization: ${JSON.stringify(structuredContent)}`);
        return structuredContent.organization.name;
    },

    async 'bad input'() {
        const { status, result, said } = await inspect(
            'tools/call', '--tool-name', 'backend_table_create', '--tool-args-json', '{"name": 5}'
        );
        expect(status === toolError, `exit status ${status}: ${said}`);
        return result.structuredContent.error.code;
    },

    async 'missing resource'() {
        return refused('bkend://orgs/org_00000000000000000000000000/projects');
    },

    async 'unknown address'() {
        return refused('bkend://nothing/like/this');
    },

    async 'create a table'() {
        expect(tables !== undefined, 'the walk did not reach a table list');
        const name = `check_${randomUUID().replaceAll('-', '').slice(0, 12)}`;
        const fields = [{ name: 'title', type: 'string', required: true }];
        const args = JSON.stringify({ ...place, name, fields });
        await succeed('tools/call', '--tool-name', 'backend_table_create', '--tool-args-json', args);
        const names = (await readList(tables)).map(table => table.name);
        expect(names.includes(name), `${name} is not among ${names}`);
        return name;
    }
};

try {
    for (const [name, body] of Object.entries(checks)) {
        let line;
        try {
            line = ['pass', name, await body()];
        } catch (error) {
            line = ['fail', name, `${error.message}`.replaceAll(/\s+/g, ' ')];
        }
        console.log(line.join('\t'));
    }
} finally {
    await fs.rm(home, { recursive: true, force: true });
}
