#!/usr/bin/env node
import { text } from 'node:stream/consumers';
import { limitHeapGrowth } from './app/cli/heap.ts';
import { runCommand } from './app/cli/program.ts';
import { promptForSecret } from './app/cli/secret-prompt.ts';

// The only file that touches the process: arguments, environment, streams, signals and the exit code.
limitHeapGrowth();
const stop = new AbortController();
let askedAt = 0;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // Somebody who asks a second time does not want to wait for clients to leave. What comes at once was asked once: npm
    // passes on a Ctrl-C that the terminal has sent to its child already.
    if (stop.signal.aborted && Date.now() - askedAt > 1_000) process.exit(130);
    if (!stop.signal.aborted) askedAt = Date.now();
    stop.abort();
  });
}

// Whoever reads along may leave (`… | head -1`). What is left to say goes nowhere, and that is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

process.exitCode = await runCommand(process.argv.slice(2), {
  env: process.env,
  readInput: (question) =>
    question !== undefined && process.stdin.isTTY
      ? promptForSecret(question, process.stdin, process.stderr)
      : text(process.stdin),
  out: (said) => process.stdout.write(said),
  err: (said) => process.stderr.write(said),
  isTerminal: process.stderr.isTTY ?? false,
  stop: stop.signal,
  onBug: (listener) => process.on('uncaughtExceptionMonitor', listener),
});
// A part that forgot a timer must not keep a stopped service alive; output that is still under way goes out first.
setTimeout(() => process.exit(), 1_000).unref();
