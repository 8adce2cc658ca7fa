/**
 * Compares the engine of `mqtt-bridge` with mqtt.js between two Mosquittos at QoS 1, in one direction and in both. Each
 * contender runs in its own process. One variant of mqtt.js acknowledges a message after the other broker has done so,
 * like the bridge, and forwards one message at a time. The other variant acknowledges immediately and loses messages in
 * flight when it exits. Requires `mosquitto`. Linux only.
 *
 * The contenders receive load in turns, with a fixed number of messages in flight. They run on one processor, the
 * brokers and the load on the other one. Brokers and load may limit the rate, so the result is messages per second of
 * processor time. A ratio is the median of the ratios of the rounds.
 */

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { check } from './support/bars.ts';
import { startBridgePeer, startBridgeProcess } from './support/bridge-peers.ts';
import { cpuSeconds } from './support/cpu-time.ts';
import { median } from './support/figures.ts';
import { startMosquitto } from './support/mosquitto.ts';
import { pin } from './support/pin.ts';
import { type StreamLoad, startStreamLoad } from './support/stream-load.ts';

/** Numbers of processors. */
const WORKING = 0;
const LOADING = 1;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 9);
const ROUND_MS = 2_000;
const WARM_UP_ROUNDS = 2;

const BRIDGE = 'a bridge';
const SAFE = 'mqtt.js, ack after ack';
const QUICK = 'mqtt.js, ack at once';
const MIN_RATIOS = { [SAFE]: 0.8, [QUICK]: 0.8 };

interface Round {
  readonly perSecond: number;
  readonly perCpuSecond: number;
}

const folder = mkdtempSync(join(tmpdir(), 'brokergraph-bridge-'));
const closers: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
const started = <T extends { close(): unknown }>(part: T): T => {
  closers.push(part.close);
  return part;
};
try {
  const [here, there] = [folderOf('here'), folderOf('there')];
  const [a, b] = [started(await startMosquitto(here)), started(await startMosquitto(there))];
  const out = started(await startStreamLoad(a.port, b.port));
  const back = started(await startStreamLoad(b.port, a.port));
  for (const each of [a.pid, b.pid, out.pid, back.pid]) pin(each, LOADING);
  const contenders = {
    [BRIDGE]: { root: 'bridge', ...started(await startBridgeProcess(a.port, b.port, 'bridge', folderOf('queue'))) },
    [SAFE]: { root: 'safe', ...started(await startBridgePeer(a.port, b.port, 'safe', true)) },
    [QUICK]: { root: 'quick', ...started(await startBridgePeer(a.port, b.port, 'quick', false)) },
  };
  for (const { root, pid } of Object.values(contenders)) {
    for (const [load, way] of [
      [out, 'out'],
      [back, 'in'],
    ] as const)
      await load.probe({ source: `${root}/${way}`, target: `${root}/${way}` });
    // After the probe, because all threads of the contender run then.
    pin(pid, WORKING);
  }
  await measure('one direction', [[out, 'out']]);
  await measure('both directions', [
    [out, 'out'],
    [back, 'in'],
  ]);

  async function measure(what: string, loads: readonly (readonly [load: StreamLoad, way: string])[]): Promise<void> {
    const figures = new Map<string, Round[]>(Object.keys(contenders).map((name) => [name, []]));
    for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round += 1) {
      for (const [name, { root, pid }] of Object.entries(contenders)) {
        const before = cpuSeconds(pid);
        const results = await Promise.all(
          loads.map(([load, way]) => {
            const topic = `${root}/${way}`;
            return load.roundTrip({ source: topic, target: topic, milliseconds: ROUND_MS });
          }),
        );
        const messages = results.reduce((sum, result) => sum + result.messages, 0);
        const perCpuSecond = messages / (cpuSeconds(pid) - before);
        const perSecond = messages / Math.max(...results.map(({ seconds }) => seconds));
        if (round >= 0) figures.get(name)?.push({ perSecond, perCpuSecond });
      }
    }
    console.log(
      `${what}, Mosquitto to Mosquitto, QoS 1, ${ROUNDS} rounds of ${ROUND_MS} ms, load ${loadavg()[0]?.toFixed(1)}`,
    );
    for (const [name, rounds] of figures) {
      const show = (rate: keyof Round) =>
        median(rounds.map((round) => round[rate]))
          .toFixed(0)
          .padStart(7);
      console.log(`  ${name.padEnd(24)} ${show('perSecond')} messages/s, ${show('perCpuSecond')} per CPU second`);
    }
    const own = figures.get(BRIDGE) ?? [];
    for (const [name, least] of Object.entries(MIN_RATIOS)) {
      const others = figures.get(name) ?? [];
      const ratioOf = (rate: keyof Round) =>
        median(own.map((round, index) => round[rate] / (others[index]?.[rate] ?? Number.NaN)));
      const [cpu, clock] = [ratioOf('perCpuSecond'), ratioOf('perSecond')];
      const text = `${cpu.toFixed(2)} times ${name} per CPU second, ${clock.toFixed(2)} times per second`;
      check(`${text} (at least ${least} of both)`, cpu >= least && clock >= least);
    }
  }
} finally {
  for (let closer = closers.pop(); closer; closer = closers.pop()) await closer();
}

function folderOf(name: string): string {
  const path = join(folder, name);
  mkdirSync(path);
  return path;
}
