// How each host is started: one prompt, no user, quad as its only MCP server, the stand-in as its provider; updates, telemetry
// and login off. A host is configured as its documentation tells users to do, so that the test sees what users get.
import fs from 'node:fs';
import path from 'node:path';
import { places } from '../harness.mjs';

const modules = path.join(places.root, '.tools/hosts/node_modules');
const machine = `${process.platform}-${process.arch}`;
const dummyKey = 'not-a-key';
const prompt = 'List my tables.';

/** The version of an npm package in .tools/hosts, or nothing if it is not installed. */
function versionOf(name) {
    try {
        return JSON.parse(fs.readFileSync(path.join(modules, name, 'package.json'), 'utf8')).version;
    } catch {
        return undefined;
    }
}

// The programs are called directly. The launchers of Claude Code and opencode work only after an install script has run,
// and no install script of a package is run here.
export const hosts = [
    {
        name: 'claude-code',
        version: () => versionOf('@anthropic-ai/claude-code'),
        provider: 'anthropic',
        prefix: 'mcp__quad__',
        logs: ['home/.cache/claude-cli-nodejs'],
        program: [path.join(modules, `@anthropic-ai/claude-code-${machine}`, 'claude')],
        arguments: [
            '--print', prompt, '--model', 'claude-sonnet-4-5', '--mcp-config', 'mcp.json', '--strict-mcp-config',
            '--allowed-tools', 'mcp__quad'
        ],
        files: ({ quad }) => ({
            'project/mcp.json': JSON.stringify({ mcpServers: { quad: { type: 'stdio', ...quad } } })
        }),
        environment: ({ url }) => ({
            ANTHROPIC_BASE_URL: url,
            ANTHROPIC_API_KEY: dummyKey,
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
            DISABLE_AUTOUPDATER: '1',
            DISABLE_ERROR_REPORTING: '1',
            DISABLE_TELEMETRY: '1',
            // With tool search a request lists names alone, and the schemas only after a search.
            ENABLE_TOOL_SEARCH: 'false'
        })
    },
    {
        name: 'codex',
        version: () => versionOf('@openai/codex'),
        provider: 'openai',
        prefix: 'mcp__quad__',
        program: [places.node, path.join(modules, '@openai/codex/bin/codex.js')],
        needs: path.join(modules, `@openai/codex-${machine}`),
        arguments: ['exec', '--skip-git-repo-check', '--sandbox', 'read-only', prompt],
        files: ({ url, quad }) => ({
            'home/.codex/config.toml': `
model = "stand-in"
model_provider = "stand-in"
approval_policy = "never"
check_for_update_on_startup = false
[analytics]
enabled = false
[feedback]
enabled = false
[model_providers.stand-in]
name = "stand-in"
base_url = "${url}/v1"
env_key = "STAND_IN_KEY"
wire_api = "responses"
[mcp_servers.quad]
command = ${JSON.stringify(quad.command)}
args = ${JSON.stringify(quad.args)}
default_tools_approval_mode = "approve"
`
        }),
        // Its log goes to a database, and what is asked for here to the standard error too.
        environment: () => ({ STAND_IN_KEY: dummyKey, RUST_LOG: 'warn' })
    },
    {
        name: 'gemini-cli',
        version: () => versionOf('@google/gemini-cli'),
        provider: 'gemini',
        prefix: 'mcp_quad_',
        program: [places.node, path.join(modules, '@google/gemini-cli/bundle/gemini.js')],
        arguments: ['--prompt', prompt, '--model', 'gemini-2.5-flash', '--skip-trust'],
        files: ({ quad }) => ({
            'home/.gemini/settings.json': JSON.stringify({
                general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
                privacy: { usageStatisticsEnabled: false },
                telemetry: { enabled: false },
                security: { auth: { selectedType: 'gemini-api-key' } },
                mcpServers: { quad: { ...quad, trust: true } }
            })
        }),
        environment: ({ url }) => ({
            GEMINI_API_KEY: dummyKey,
            GOOGLE_GEMINI_BASE_URL: url,
            // Else it starts itself a second time, to set limits of memory.
            GEMINI_CLI_NO_RELAUNCH: 'true'
        })
    },
    {
        name: 'opencode',
        version: () => versionOf('opencode-ai'),
        provider: 'openai',
        prefix: 'quad_',
        logs: ['home/.local/share/opencode/log'],
        // On x64 the program for old processors runs on all of them.
        program: [path.join(modules, `opencode-${machine}${process.arch === 'x64' ? '-baseline' : ''}`, 'bin/opencode')],
        arguments: ['run', '--model', 'stand-in/stand-in', prompt],
        files: ({ url, quad }) => ({
            'home/.config/opencode/opencode.json': JSON.stringify({
                autoupdate: false,
                share: 'disabled',
                provider: {
                    'stand-in': {
                        npm: '@ai-sdk/openai-compatible',
                        options: { baseURL: `${url}/v1`, apiKey: dummyKey },
                        models: { 'stand-in': { name: 'stand-in', tool_call: true } }
                    }
                },
                mcp: { quad: { type: 'local', command: [quad.command, ...quad.args] } },
                permission: { '*': 'allow' }
            })
        }),
        environment: () => ({
            OPENCODE_DISABLE_AUTOUPDATE: '1',
            OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
            OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
            OPENCODE_DISABLE_MODELS_FETCH: '1'
        })
    }
];

/** Why a host cannot be started, or nothing. npm leaves out what a package does not offer for this machine. */
export function missing(host) {
    const files = [...host.program.filter(path.isAbsolute), ...(host.needs ? [host.needs] : [])];
    const absent = files.find(file => !fs.existsSync(file));
    return absent && `${path.relative(places.root, absent)} is not installed; run ./x setup hosts`;
}

/** The program and arguments that start a host in `folder`, with nothing of this machine's environment but PATH. */
export function commandOf(host, folder, given) {
    for (const name of ['home', 'project', 'tmp']) fs.mkdirSync(path.join(folder, name), { recursive: true });
    for (const [name, text] of Object.entries(host.files(given))) {
        const file = path.join(folder, name);
        fs.mkdirSync(path.dirname(file), { recursive: true });
        fs.writeFileSync(file, text);
    }
    const variables = {
        PATH: `${path.dirname(places.node)}:${process.env.PATH}`,
        HOME: path.join(folder, 'home'),
        TMPDIR: path.join(folder, 'tmp'),
        LANG: 'C.UTF-8',
        TERM: 'dumb',
        ...host.environment(given)
    };
    const assignments = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
    return ['env', '-i', '-C', path.join(folder, 'project'), ...assignments, ...host.program, ...host.arguments];
}
