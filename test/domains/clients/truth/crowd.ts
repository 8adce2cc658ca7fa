/**
 * A crowd of clients in a separate process, see crowd-process.ts. Reports their true state when it has finished.
 */

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { endProcess } from '../../../support/end-process.ts';
import type { TrueClient } from './crowd-member.ts';

export interface CrowdPlan {
  readonly seed: number;
  readonly port: number;
  readonly count: number;
  readonly seconds: number;
  readonly maxPauseMs: number;
  readonly accounts: readonly ({ readonly username: string; readonly password: string } | null)[];
  readonly mixesExpiry: boolean;
}

export type CrowdMessage =
  | { readonly kind: 'HALF' }
  | { readonly kind: 'QUIET'; readonly steps: number; readonly truth: readonly TrueClient[] }
  | { readonly kind: 'FAILED'; readonly text: string };

interface Crowd {
  /** Resolves after half of the time. */
  readonly half: Promise<void>;
  /** Resolves when all clients have finished and keep their state. */
  readonly quiet: Promise<{ readonly steps: number; readonly truth: readonly TrueClient[] }>;
  /** Ends all connections without DISCONNECT. */
  kill(): Promise<void>;
}

const bootstrap = fileURLToPath(new URL('typescript-process.mjs', import.meta.url));
const program = fileURLToPath(new URL('crowd-process.ts', import.meta.url));

export function startCrowd(plan: CrowdPlan): Crowd {
  const child = fork(bootstrap, [program, JSON.stringify(plan)], { serialization: 'advanced' });
  const kill = () => endProcess(child, 'SIGKILL');
  onTestFinished(kill);
  const told = <K extends CrowdMessage['kind']>(kind: K) =>
    new Promise<Extract<CrowdMessage, { readonly kind: K }>>((resolve, reject) => {
      child.on('message', (message: CrowdMessage) => {
        if (message.kind === kind) resolve(message as Extract<CrowdMessage, { readonly kind: K }>);
        if (message.kind === 'FAILED') reject(new Error(message.text));
      });
      child.once('exit', () => reject(new Error('The process of the crowd ended')));
    });
  const half = told('HALF').then(() => undefined);
  const quiet = told('QUIET');
  half.catch(() => undefined);
  quiet.catch(() => undefined);
  return { half, quiet, kill };
}
