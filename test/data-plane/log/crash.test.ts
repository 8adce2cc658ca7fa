import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { programUrl } from '../../support/programs.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { openTestStore, readAll } from './store.ts';

const ROUNDS = 20;
const script = fileURLToPath(programUrl('test/data-plane/log/append-process.mjs'));

interface Round {
  /** Stored messages that it found at its start. */
  readonly found: number;
  /** Numbers of messages that were reported as stored. */
  readonly acknowledged: readonly number[];
}

/** Waits for the command to append, so that it can start while another process still works. */
function startProcess(folder: string): ChildProcessByStdio<Writable, Readable, null> {
  const child = spawn(process.execPath, [script, folder], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return child;
}

/** Killed somewhere in the midst of its work. */
async function appendUntilKilled(child: ReturnType<typeof startProcess>, start: number): Promise<Round> {
  const exit = once(child, 'exit');
  let found = -1;
  const acknowledged: number[] = [];
  child.stdin.write(String(start));
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith('problem')) throw new Error(line);
    if (line.startsWith('found')) found = Number(line.slice(6));
    else acknowledged.push(Number(line));
    if (acknowledged.length === 1) void delay(Math.random() * 80).then(() => child.kill('SIGKILL'));
  }
  await exit;
  return { found, acknowledged };
}

test(`a process killed ${ROUNDS} times loses no message that it was told is stored, tears none and doubles none`, async () => {
  const folder = temporaryFolder();
  const acknowledged: number[] = [];
  let next = startProcess(folder);
  for (let round = 0; round < ROUNDS; round += 1) {
    const child = next;
    next = startProcess(folder);
    const before = acknowledged.length;
    // Numbers of messages that were not acknowledged any more are not used again.
    const result = await appendUntilKilled(child, round * 1_000_000);
    expect(result.found).toBeGreaterThanOrEqual(before);
    acknowledged.push(...result.acknowledged);
  }

  const store = openTestStore(folder);
  const stored = ['a', 'b'].map((id) => readAll(store.log(id)));
  const numbers = stored.map((messages) => messages.map(({ payload }) => Number.parseInt(payload.toString(), 10)));
  for (const [index, messages] of stored.entries()) {
    const ids = messages.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    expect(numbers[index]).toEqual([...new Set(numbers[index])].sort((a, b) => a - b));
    const torn = messages.filter(({ topic, payload }) => {
      const number = Number(topic.slice(2));
      return payload.toString() !== `${number}:${String(number % 10).repeat(number % 1_000)}`;
    });
    expect(torn).toEqual([]);
  }
  const present = new Set(numbers.flat());
  expect(acknowledged.filter((number) => !present.has(number))).toEqual([]);
  expect(acknowledged.length).toBeGreaterThan(ROUNDS);
  expect(store.problems).toEqual([]);
});
