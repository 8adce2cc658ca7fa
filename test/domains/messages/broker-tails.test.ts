import { expect, onTestFinished, test } from 'vitest';
import { BrokerTails, MAX_FILTERS, MAX_TAILS } from '../../../src/domains/messages/broker-tails.ts';
import type { MessageTail } from '../../../src/domains/messages/message-tail.ts';
import { LeasedLink } from '../../../src/protocol/mqtt/leased-link.ts';
import { startMosquitto } from '../../support/mosquitto.ts';

async function tailsOf({ graceMs }: { readonly graceMs: number }) {
  const { url } = await startMosquitto();
  const observer = new LeasedLink({ id: 'test', clientId: 'observer', url, timeoutMs: 30_000 }, { lingerMs: 0 });
  let ended: () => void = () => undefined;
  const empty = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const tails = new BrokerTails({ observer, timeoutMs: 30_000, graceMs, onEmpty: ended });
  onTestFinished(async () => {
    tails.close();
    await observer.close();
  });
  const open = (filter: string, maxRate = 1) => tails.open(filter, { maxRate, maxPayloadBytes: 10 });
  return { open, observer, empty, tails };
}

/** As a subscriber does; ends it. */
async function watched(tail: MessageTail) {
  const events = tail.watch({});
  await events.next();
  return () => events.return();
}

test('equal requests share a tail, which ends some time after the last subscriber left', async () => {
  const { open, observer, empty } = await tailsOf({ graceMs: 50 });
  const [first, second, other] = await Promise.all([open('a'), open('a'), open('a', 2)]);
  expect(second).toBe(first);
  expect(other).not.toBe(first);
  const leave = await watched(first);
  expect(observer.isOpen).toBe(true);
  await leave();
  const back = await watched(await open('a'));
  await back();
  await empty;
  await expect.poll(() => observer.isOpen).toBe(false);
  expect(await open('a')).not.toBe(first);
});

test('the filters and tails of a broker are bounded, and tails without subscribers make room', async () => {
  const { open } = await tailsOf({ graceMs: 60_000 });
  for (let number = 0; number < MAX_FILTERS; number += 1) await watched(await open(`f${number}`));
  await expect(open('one more')).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  for (let rate = 2; rate <= MAX_TAILS - MAX_FILTERS; rate += 1) await watched(await open('f0', rate));
  const leave = await watched(await open('f0', 1_000));
  await expect(open('f0', 999)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
  await watched(await open('f0', 1_000));
  await leave();
  await expect(open('f0', 999)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
});

test('a tail that cannot start leaves nothing behind', async () => {
  const observer = new LeasedLink({ id: 'test', clientId: 'c', url: 'mqtt://127.0.0.1:1', timeoutMs: 30_000 });
  onTestFinished(() => observer.close());
  let isEmpty = false;
  const onEmpty = () => {
    isEmpty = true;
  };
  const tails = new BrokerTails({ observer, timeoutMs: 30_000, graceMs: 60_000, onEmpty });
  const limits = { maxRate: 1, maxPayloadBytes: 1 };
  const results = await Promise.allSettled([tails.open('a', limits), tails.open('a', limits)]);
  expect(results).toMatchObject([1, 2].map(() => ({ reason: { code: 'BROKER_UNREACHABLE' } })));
  expect(isEmpty).toBe(true);
});
