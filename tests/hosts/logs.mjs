// What a host says in its logs about the tools of quad: that it skips one, cuts a name or cannot compile a schema.
import fs from 'node:fs';
import path from 'node:path';
import { tail } from '../harness.mjs';
import { check } from './checks.mjs';

const trouble =
    /skipp(ed|ing)|reject|truncat|failed to (compile|parse|convert|list|start|connect)|can't resolve|invalid|unsupported|not (accept|support|valid)|ignor(ed|ing)|does not match|timed out/i;
const subject = /tool|schema|mcp|quad/i;
// The second call of the script fails, and hosts log that as it is.
const expected = /tbl_none/;

function* linesOf(file) {
    if (!fs.existsSync(file)) return;
    if (fs.statSync(file).isDirectory()) {
        for (const name of fs.readdirSync(file)) yield* linesOf(path.join(file, name));
    } else {
        yield* fs.readFileSync(file, 'utf8').split('\n');
    }
}

/** Checks the standard error and the logs of a host, and gives the number of different complaints. */
export function checkLogs(label, host, folder, stderr) {
    const files = (host.logs ?? []).map(name => path.join(folder, name));
    const lines = [...stderr.split('\n'), ...files.flatMap(file => [...linesOf(file)])];
    const complaints = lines.filter(line => trouble.test(line) && subject.test(line) && !expected.test(line));
    const different = [...new Set(complaints.map(line => tail(line, 300)))];
    check(`${label}: its logs hold no complaint about tools`, different, `${lines.length} lines`);
    return different.length;
}
