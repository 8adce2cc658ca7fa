#!/usr/bin/env node
import { text } from 'node:stream/consumers';
import { nodeRefusal } from './app/node-version.ts';

const refusal = nodeRefusal(process.versions.node);
if (refusal !== null) {
  process.stderr.write(`${refusal}\n`);
  process.exit(1);
}
// Loaded after the check, because packages fail on older versions: better-sqlite3 13 crashes on Node 20.
const { runCommand } = await import('./app/cli/program.ts');
const { promptForSecret } = await import('./app/cli/secret-prompt.ts');

// The only file that touches the process: arguments, environment, streams, signals and the exit code.
const stop = new AbortController();
let askedAt = 0;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) {
  process.on(signal, () => {
    // A second signal stops the process without waiting for clients. Two signals within a second count as one: npm
    // forwards a Ctrl-C that the terminal also sends to the child.
    if (stop.signal.aborted && Date.now() - askedAt > 1_000) process.exit(130);
    if (!stop.signal.aborted) askedAt = Date.now();
    stop.abort();
  });
}

let isOutputLost = false;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader of the output may exit first (`… | head -1`). The rest of the output is then dropped without an error.
  if (error.code === 'EPIPE' || isOutputLost) return;
  isOutputLost = true;
  process.exitCode = 1;
  output.err(`error: The output cannot be written: ${error.message}\n`);
});
// There is no stream left to report it.
process.stderr.on('error', () => undefined);

const args = process.argv.slice(2);
const isTerminal = process.stderr.isTTY ?? false;
const isJson = args[0] === 'serve' && (process.env.LOG_FORMAT || (isTerminal ? 'pretty' : 'json')) !== 'pretty';
const output = isJson
  ? (await import('./app/cli/json-output.ts')).writeOnlyJson(process)
  : { out: (text: string) => process.stdout.write(text), err: (text: string) => process.stderr.write(text) };

const exitCode = await runCommand(args, {
  env: process.env,
  readInput: (question) =>
    question !== undefined && process.stdin.isTTY
      ? promptForSecret(question, process.stdin, process.stderr)
      : text(process.stdin),
  ...output,
  isTerminal,
  isOutTerminal: process.stdout.isTTY ?? false,
  stop: stop.signal,
  onBug: (listener) =>
    process.on('uncaughtException', (error) => {
      listener(error);
      process.exit(1);
    }),
});
process.exitCode = isOutputLost ? 1 : exitCode;
// A timer that was not cleared must not keep a stopped service alive. The pause lets the last output be written.
setTimeout(() => process.exit(), 1_000).unref();
