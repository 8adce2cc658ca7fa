import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { startServiceProcess } from '../../../support/service-process.ts';
import { type PausableWatcher, pausableSse, pausableWebSocket } from './pausable.ts';
import { startScriptedInspect } from './scripted-inspect.ts';

const CLIENTS = 500;
const CHANGES_PER_SECOND = 5_000;
/** Of each transport. Were events kept for them, that would be some 7 MB a second each: 400 MB in 5 s. */
const SLOW_READERS = 6;
/** What the collector of garbage lets come together in ten seconds under this load is 120 to 160 MB. */
const MAX_GROWTH_MB = 256;
/** Between what is left after collections early and late in a stall that is long enough for several. */
const MAX_DRIFT_MB = 64;
const LONG_SECONDS = 30;
/** Before the first comment of an event stream is due, which would wake a stream that forgot its reader. */
const LATE_MS = 11_000;
/** Events that are read before memory is taken for what it is under this load. */
const WARM_UP_EVENTS = 10_000;

/**
 * Some subscribers stop reading for some seconds under 5,000 changes a second while another continues. The service
 * stores nothing for them, sends them a GAP, and in the end their lists are true.
 */
export async function checkSlowReaders(seconds: number): Promise<void> {
  const inspect = await startScriptedInspect(CLIENTS);
  const service = await startServiceProcess();
  const brokerId = await service.addBroker(inspect.broker.url);
  const steady = pausableWebSocket(service, brokerId);
  await steady.mirror.until(() => steady.mirror.size === CLIENTS);
  const endWarmUp = inspect.change(CHANGES_PER_SECOND);
  await steady.mirror.until(() => steady.mirror.events > WARM_UP_EVENTS);
  await endWarmUp();

  // Not earlier: the service closes a connection that takes nothing for 30 s. Without changes meanwhile, because
  // thirteen readers of all of them keep a slow machine too busy to open the next one.
  const slow: PausableWatcher[] = [];
  for (let number = 0; number < SLOW_READERS; number++) {
    slow.push(pausableWebSocket(service, brokerId), await pausableSse(service, brokerId));
  }
  for (const { mirror } of slow) await mirror.until(() => mirror.resumeAt !== null);
  const end = inspect.change(CHANGES_PER_SECOND);
  for (const { pause } of slow) pause();
  const before = service.rss();
  const sizes: number[] = [];
  const watch = setInterval(() => sizes.push(service.rss()), 20);
  const seen = steady.mirror.events;
  // The length of the stall is the subject.
  await delay(seconds * 1_000);
  clearInterval(watch);
  const perSecond = (steady.mirror.events - seen) / seconds;
  const peak = Math.max(...sizes);
  console.log(`resident ${before.toFixed(0)} MB before, ${peak.toFixed(0)} MB at most in ${seconds} s`);
  console.log(`the one who read got ${perSecond.toFixed(0)} events a second`);
  for (const { resume } of slow) resume();
  for (const { mirror } of slow) await mirror.until(() => mirror.kinds.GAP > 0);
  console.log(`${(await end()).toFixed(0)} changes a second`);

  const truth = [...inspect.clients].sort();
  const text = JSON.stringify(truth);
  const held = ({ mirror }: PausableWatcher) => mirror.held().map(({ clientId }) => clientId);
  const isTrue = (watcher: PausableWatcher) =>
    watcher.mirror.size === truth.length && JSON.stringify(held(watcher)) === text;
  // The service and the one who read all have worked off what was changed meanwhile.
  await steady.mirror.until(() => isTrue(steady));
  for (const watcher of slow) {
    const { mirror } = watcher;
    const late = AbortSignal.timeout(LATE_MS);
    await mirror.until(() => isTrue(watcher), late);
    expect(held(watcher)).toEqual(truth);
  }
  for (const { course } of slow) {
    // Whether a change was read before the stall is a matter of moments.
    expect(course.filter((kind) => kind !== 'CHANGE').slice(0, 3)).toEqual(['SNAPSHOT', 'GAP', 'SNAPSHOT']);
    for (const [index, kind] of course.entries()) if (kind === 'GAP') expect(course[index + 1]).toBe('SNAPSHOT');
  }
  expect(peak - before).toBeLessThan(MAX_GROWTH_MB);
  if (seconds < LONG_SECONDS) return;
  const third = Math.floor(sizes.length / 3);
  expect(Math.min(...sizes.slice(-third)) - Math.min(...sizes.slice(0, third))).toBeLessThan(MAX_DRIFT_MB);
}
