import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { onTestFinished } from 'vitest';
import type { EndReason, LogTiming } from '../../../../src/embedded/sharing/redis-log/log-options.ts';

export interface ProcessStart {
  readonly url: string;
  readonly nodeId: number;
  readonly timing: LogTiming;
}

export type ProcessMessage = { readonly appended: string } | { readonly ended: EndReason };

export interface NodeProcess {
  /** What it was told to be in the log, in order. */
  readonly appended: readonly string[];
  readonly ended: Promise<EndReason>;
  /** Stands still, with its connections open. */
  standStill(): void;
  goOn(): void;
  kill(): Promise<void>;
}

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/** A node that appends `0`, `1`, … one after the other, until it is killed or the test ends. Resolves after the first one. */
export async function startNodeProcess(start: ProcessStart): Promise<NodeProcess> {
  const folder = mkdtempSync(join(nodeModules(), 'log-process-'));
  const bundle = await rolldown({
    input: fileURLToPath(new URL('./log-process.ts', import.meta.url)),
    platform: 'node',
    logLevel: 'silent',
  });
  const file = join(folder, 'log-process.mjs');
  await bundle.write({ file, codeSplitting: false });
  await bundle.close();
  const child = fork(file, [JSON.stringify(start)], { execArgv: [] });
  const exited = once(child, 'exit');
  onTestFinished(async () => {
    await kill(child, exited);
    rmSync(folder, { recursive: true, force: true });
  });
  const appended: string[] = [];
  const ended = new Promise<EndReason>((resolve) => {
    child.on('message', (message: ProcessMessage) => {
      if ('ended' in message) resolve(message.ended);
      else appended.push(message.appended);
    });
  });
  await Promise.race([
    once(child, 'message'),
    exited.then(() => {
      throw new Error('the node ended');
    }),
  ]);
  return {
    appended,
    ended,
    standStill: () => child.kill('SIGSTOP'),
    goOn: () => child.kill('SIGCONT'),
    kill: () => kill(child, exited),
  };
}

async function kill(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  child.kill('SIGKILL');
  await exited;
}

/** Where packages are found from, and nobody looks. */
function nodeModules(): string {
  const folder = join(ROOT, 'node_modules/.brokergraph');
  mkdirSync(folder, { recursive: true });
  return folder;
}
