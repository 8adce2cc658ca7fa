/**
 * Compares servers. Each server runs in its own process on one processor; this process generates the load on the
 * others. Short rounds alternate, so that other load of the machine affects all servers. The result is requests per
 * second of processor time of the server, which varies less than requests per second on a shared machine. A ratio is
 * the median of the ratios of the rounds.
 *
 * Before the measurement all servers must return the same response.
 */

import { deepStrictEqual } from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { median } from './figures.ts';
import { drive, type Load } from './load.ts';

export interface Contender {
  readonly name: string;
  /** Compiled module of the server, run with the contender's name as its argument. See `serveBench`. */
  readonly module: URL;
  readonly load: Load;
}

interface MeasureOptions {
  readonly rounds: number;
  readonly roundMs: number;
  readonly connections: number;
}

interface Round {
  /** Requests per CPU second of the server. */
  readonly perCpuSecond: number;
  readonly perSecond: number;
}

/** Rounds by contender. Rounds with the same index were measured one after the other. */
type Figures = ReadonlyMap<string, readonly Round[]>;

const DEFAULTS: MeasureOptions = { rounds: Number(process.env.BENCH_ROUNDS ?? 21), roundMs: 300, connections: 8 };
/** Rounds without measurement, in which V8 and the servers compile code. Lists of 50 require 10,000 requests. */
const WARM_UP_ROUNDS = 20;

export async function measure(contenders: readonly Contender[], options = DEFAULTS): Promise<Figures> {
  const running: { readonly contender: Contender; readonly server: Server; readonly rounds: Round[] }[] = [];
  try {
    for (const contender of contenders) running.push({ contender, server: await start(contender), rounds: [] });
    let first: unknown;
    for (const { contender, server } of running) {
      const answer = await answerOf(server.port, contender.load);
      first ??= answer;
      deepStrictEqual(answer, first, `${contender.name} answers something else`);
    }
    for (let round = -WARM_UP_ROUNDS; round < options.rounds; round++) {
      for (const { contender, server, rounds } of running) {
        const before = await server.cpuSeconds();
        const { answers, seconds } = await drive(server.port, contender.load, options.connections, options.roundMs);
        const cpu = (await server.cpuSeconds()) - before;
        if (round >= 0) rounds.push({ perCpuSecond: answers / cpu, perSecond: answers / seconds });
      }
    }
  } finally {
    for (const { server } of running) server.close();
  }
  return new Map(running.map(({ contender, rounds }) => [contender.name, rounds]));
}

async function answerOf(port: number, { method, path, headers = {}, body }: Load): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body }),
  });
  return response.json();
}

/** Prints each ratio and whether it reaches its target. Returns whether all do. */
export function report(
  title: string,
  figures: Figures,
  subject: string,
  targets: Readonly<Record<string, number>>,
): boolean {
  console.log(`\n${title}: requests per CPU second of the server (requests per second)`);
  for (const [name, rounds] of figures) {
    const perCpuSecond = median(rounds.map((round) => round.perCpuSecond));
    const perSecond = median(rounds.map((round) => round.perSecond));
    console.log(`  ${name.padEnd(16)} ${perCpuSecond.toFixed(0).padStart(7)} (${perSecond.toFixed(0)})`);
  }
  let reached = true;
  const own = figures.get(subject) ?? [];
  for (const [peer, target] of Object.entries(targets)) {
    const others = figures.get(peer) ?? [];
    const ratio = median(own.map(({ perCpuSecond }, i) => perCpuSecond / (others[i]?.perCpuSecond ?? Number.NaN)));
    const good = ratio >= target;
    reached &&= good;
    console.log(`  ${good ? 'ok  ' : 'FAIL'} ${subject} is ${ratio.toFixed(2)} times ${peer} (at least ${target})`);
  }
  return reached;
}

interface Server {
  readonly port: number;
  cpuSeconds(): Promise<number>;
  close(): void;
}

async function start({ name, module }: Contender): Promise<Server> {
  const command = [process.execPath, fileURLToPath(module), name];
  const pinned =
    process.platform === 'linux' && availableParallelism() > 1 ? ['taskset', '-c', '0', ...command] : command;
  const [program = '', ...args] = pinned;
  const child = spawn(program, args, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, NODE_ENV: 'production' },
  });
  const { port } = await answer<{ port: number }>(child);
  return {
    port,
    async cpuSeconds() {
      const told = answer<{ cpuSeconds: number }>(child);
      child.send('cpu');
      return (await told).cpuSeconds;
    },
    close: () => child.kill(),
  };
}

function answer<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new Error('A server ended'));
    child.once('exit', gone);
    child.once('message', (message) => {
      child.off('exit', gone);
      resolve(message as T);
    });
  });
}
