/**
 * The attacker of one input, in its own process, so that its processor time is not counted for the service. Runs as
 * `node attacker.js <input>` with an IPC channel. Receives `{ target, runs, atOnce, first }` and returns the results of
 * the runs.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Group, Target } from './input.ts';
import { anonymous } from './inputs/anonymous.ts';
import { broker } from './inputs/broker.ts';
import { mqttClient } from './inputs/mqtt-client.ts';
import { projectAdmin } from './inputs/project-admin.ts';
import { restrictedToken } from './inputs/restricted-token.ts';
import { viewer } from './inputs/viewer.ts';
import { webhookTarget } from './inputs/webhook-target.ts';

export const GROUPS: readonly Group[] = [
  anonymous,
  viewer,
  restrictedToken,
  projectAdmin,
  mqttClient,
  broker,
  webhookTarget,
];

interface Order {
  readonly target: Target;
  readonly runs: number;
  readonly atOnce: number;
  /** Number of the first run. */
  readonly first: number;
}

/** Number of occurrences of each result. */
export type Results = ReadonlyMap<string, number>;

export interface Attacker {
  /** Resolves when all runs have ended, or after the deadline with the results of the runs that have ended. */
  attack(order: Order, deadlineMs: number): Promise<Results>;
  close(): void;
}

export async function startAttacker(input: string): Promise<Attacker> {
  const child = fork(fileURLToPath(import.meta.url), [input]);
  await once(child, 'message');
  return { attack: (order, deadlineMs) => attack(child, order, deadlineMs), close: () => child.kill('SIGKILL') };
}

function attack(child: ChildProcess, order: Order, deadlineMs: number): Promise<Results> {
  const results = new Map<string, number>();
  return new Promise((resolve, reject) => {
    const over = () => {
      clearTimeout(timer);
      child.removeAllListeners();
      resolve(results);
    };
    const timer = setTimeout(over, deadlineMs);
    child.once('exit', () => reject(new Error('An attacker ended')));
    child.on('message', (result: string | null) => {
      if (result === null) over();
      else results.set(result, (results.get(result) ?? 0) + 1);
    });
    child.send(order);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const input = GROUPS.flatMap(({ inputs }) => inputs).find(({ name }) => name === process.argv[2]);
  if (!input) throw new Error(`There is no input ${process.argv[2]}`);
  process.on('disconnect', () => process.exit(0));
  process.on('message', async ({ target, runs, atOnce, first }: Order) => {
    let next = first;
    await Promise.all(
      Array.from({ length: Math.min(atOnce, runs) }, async () => {
        while (next < first + runs) process.send?.(await input.attack(target, next++));
      }),
    );
    process.send?.(null);
  });
  process.send?.('ready');
}
