import { expect, test } from 'vitest';
import { MAX_REFUSALS, type Refused } from '../../../src/protocol/apis/refusals/refusal.ts';
import { RefusalLog } from '../../../src/protocol/apis/refusals/refusal-log.ts';

const refused = (fields: Partial<Refused> = {}): Refused => ({
  kind: 'CONNECT',
  reason: 'UNKNOWN_ACCOUNT',
  clientId: 'a',
  username: 'u',
  address: '10.0.0.1',
  listenerPort: 1883,
  topic: null,
  reasonCode: 5,
  detail: null,
  ...fields,
});

const DENIAL = { decision: 'DEFAULT', decidedBy: null } as const;

test('equal refusals are one entry with a count, which moves to the front', () => {
  const log = new RefusalLog(() => {});
  for (const clientId of ['a', 'b', 'a']) log.add(refused({ clientId }));

  expect(log.list({ count: 10 })).toMatchObject([
    { clientId: 'a', count: 2, sequence: 3 },
    { clientId: 'b', count: 1, sequence: 2 },
  ]);
  expect(log.list({ after: 2, count: 10 })).toHaveLength(1);
  expect(log.list({ before: 3, count: 10 })).toMatchObject([{ clientId: 'b' }]);
});

test('an entry has the listener, the reason code and the detail of its last refusal', () => {
  const log = new RefusalLog(() => {});
  log.add(refused({ listenerPort: 1883, reasonCode: 4, detail: 'first' }));
  for (const last of [
    { listenerPort: 8883, reasonCode: 5, detail: 'second' },
    { listenerPort: null, reasonCode: null, detail: null },
  ]) {
    log.add(refused(last));
    expect(log.list({ count: 10 })).toMatchObject([last]);
  }
});

test('100,000 refusals with random names of one network become 100 entries and one without names', () => {
  const log = new RefusalLog(() => {});
  log.add(refused({ clientId: 'victim', address: '10.9.9.9' }));
  for (let number = 0; number < 100_000; number += 1) log.add(refused({ clientId: `random ${number}` }));

  const all = log.list({ count: MAX_REFUSALS });
  expect(all).toHaveLength(102);
  expect(all.filter(({ isMerged }) => isMerged)).toMatchObject([{ clientId: null, username: null, count: 99_900 }]);
  expect(all.at(-1)).toMatchObject({ clientId: 'victim' });
  expect(log.dropped).toBe(0);
});

test('the least recently refused are dropped beyond 1,000, and counted', () => {
  const log = new RefusalLog(() => {});
  for (let number = 0; number < 3_000; number += 1) {
    log.add(refused({ address: `10.${number >> 8}.${number & 255}.1` }));
    log.add(refused({ clientId: 'again' }));
  }
  expect(log.size).toBeLessThanOrEqual(MAX_REFUSALS);
  expect(log.size + log.dropped).toBe(3_001);
  expect(log.list({ count: 1 })).toMatchObject([{ clientId: 'again', count: 3_000 }]);
});

test('a network that was dropped can have 100 entries again', () => {
  const log = new RefusalLog(() => {});
  for (let number = 0; number < 100; number += 1) log.add(refused({ clientId: `first ${number}` }));
  for (let number = 0; number < 1_000; number += 1)
    log.add(refused({ address: `10.1.${number >> 8}.${number & 255}` }));
  log.add(refused({ clientId: 'second' }));
  expect(log.list({ count: 1 })).toMatchObject([{ clientId: 'second', isMerged: false }]);
});

test('long names are truncated, without half of a surrogate pair', () => {
  const log = new RefusalLog(() => {});
  log.add(refused({ clientId: `${'x'.repeat(254)}😀${'y'.repeat(60_000)}`, topic: 't/'.repeat(30_000) }));
  const [entry] = log.list({ count: 1 });
  expect(entry?.clientId).toHaveLength(256);
  expect(entry?.clientId?.isWellFormed()).toBe(true);
  expect(entry?.topic).toHaveLength(512);
});

test('the deciding rule of a repeated refusal is evaluated again only when the access control has changed', () => {
  const log = new RefusalLog(() => {});
  let evaluated = 0;
  const evaluate = () => {
    evaluated += 1;
    return DENIAL;
  };
  for (let number = 0; number < 1_000; number += 1) {
    log.add(refused({ kind: 'PUBLISH', topic: 'a' }), { version: number < 500 ? 1 : 2, evaluate });
  }
  expect(evaluated).toBe(2);
  expect(log.list({ count: 1 })).toMatchObject([{ denial: DENIAL, count: 1_000 }]);
});

test('changes in quick succession are one notification', async () => {
  let notified = 0;
  const first = new Promise<void>((resolve) => {
    const log = new RefusalLog(() => {
      notified += 1;
      resolve();
    });
    for (let number = 0; number < 1_000; number += 1) log.add(refused({ clientId: `${number}` }));
  });
  await first;
  expect(notified).toBe(1);
});
