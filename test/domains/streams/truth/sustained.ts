import { expect } from 'vitest';
import { startMosquitto } from '../../../support/mosquitto.ts';
import { startRelay } from '../../../support/relay.ts';
import { startServiceHere, startServiceProcess } from '../../../support/service-process.ts';
import { NumberedTraffic, WINDOW } from './numbered-traffic.ts';
import { startStreamOfNumbers } from './stream-of-numbers.ts';

/** Between what is left after collections early and late in a run of minutes. */
const MAX_DRIFT_MB = 48;
const MIN_SAMPLES = 60;

/** Sends `count` messages of QoS 1 through a stream at full speed: each leaves once, in order, with flat memory. */
export async function checkSustained(count: number): Promise<void> {
  const broker = await startMosquitto({ lines: ['max_queued_messages 0'] });
  const { service, read } = await startStreamOfNumbers(startServiceProcess, broker.url);
  const traffic = await NumberedTraffic.start(broker.port, 'in', 'out');
  const sizes: number[] = [];
  const watch = setInterval(() => sizes.push(service.rss()), 250);
  const from = performance.now();
  traffic.publishUpTo(count);
  await traffic.until(count);
  const seconds = (performance.now() - from) / 1_000;
  clearInterval(watch);
  expect(traffic.gap).toBeNull();
  expect(traffic.repeats).toEqual([]);
  await expect
    .poll(async () => (await read('counters { received published filtered failed }')).counters)
    .toEqual({ received: count, published: count, filtered: 0, failed: 0 });
  console.log(`${count} messages in ${seconds.toFixed(1)} s: ${(count / seconds).toFixed(0)} a second`);
  if (sizes.length < MIN_SAMPLES) return;
  // The first sixth is the engine of JavaScript getting to know the work.
  const parts = [1, 5].map((sixth) => sizes.slice((sizes.length * sixth) / 6, (sizes.length * (sixth + 1)) / 6));
  const [early = 0, late = 0] = parts.map((part) => Math.min(...part));
  console.log(
    `resident: ${early.toFixed(0)} MB at least early, ${late.toFixed(0)} late, ${Math.max(...sizes).toFixed(0)} at most`,
  );
  expect(late - early).toBeLessThan(MAX_DRIFT_MB);
}

/** The same while the service's connections are cut now and then: what comes twice comes right after a cut. */
export async function checkCutConnections(count: number, cuts: number): Promise<void> {
  const broker = await startMosquitto({ lines: ['max_queued_messages 0'] });
  const relay = await startRelay(broker.port);
  const { read } = await startStreamOfNumbers(startServiceHere, relay.url);
  const traffic = await NumberedTraffic.start(broker.port, 'in', 'out');
  traffic.publishUpTo(count);
  const cutAt: number[] = [];
  for (let cut = 1; cut <= cuts; cut += 1) {
    await traffic.until(Math.floor((count * cut) / (cuts + 1)));
    cutAt.push(traffic.seen);
    relay.cut();
  }
  await traffic.until(count);
  expect(traffic.gap).toBeNull();
  // What was on its way when it was cut may come again, before or after what was still to come then.
  const isAroundCut = ({ after }: { readonly after: number }) =>
    cutAt.some((at) => after >= at && after <= at + 2 * WINDOW);
  expect(traffic.repeats.filter((repeat) => !isAroundCut(repeat))).toEqual([]);
  expect(traffic.repeats.length).toBeLessThanOrEqual(cuts * WINDOW);
  expect(await read('state counters { failed }')).toMatchObject({ state: 'RUNNING' });
  console.log(`${count} messages, ${cuts} cuts, ${traffic.repeats.length} came twice`);
}
