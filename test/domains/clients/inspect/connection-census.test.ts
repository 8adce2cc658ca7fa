import { expect, test } from 'vitest';
import { ConnectionCensus } from '../../../../src/domains/clients/inspect/connection-census.ts';

test('a count that is told is compared with the known connections, and strangers only go until the next one', () => {
  const census = new ConnectionCensus();
  expect(census).toMatchObject({ unknown: null, isCounted: false, wasEmpty: false });
  census.countTold(5, 2, false);
  expect(census).toMatchObject({ unknown: 3, isCounted: true });
  census.strangersChanged(-1);
  expect(census.unknown).toBe(2);
  census.countTold(2, 2, false);
  census.strangersChanged(-1);
  expect(census.unknown).toBe(0);
  // Fewer than are known: whom to believe is not known either.
  census.countTold(1, 2, false);
  expect(census).toMatchObject({ unknown: null, isCounted: true });
});

test('a count that is not repeated holds at the next uptime, for those who were known then', () => {
  const census = new ConnectionCensus();
  census.countTold(4, 3, false);
  census.uptimeTold(4);
  expect(census.unknown).toBe(1);
  census.messageTold();
  expect(census.unknown).toBe(0);
  census.uptimeTold(3);
  census.countTold(5, 3, false);
  census.messageTold();
  expect(census.unknown).toBe(2);
  // Also the retained one of before, which alone proves nothing.
  const late = new ConnectionCensus();
  late.countTold(3, 1, true);
  expect(late).toMatchObject({ unknown: null, isCounted: false, wasEmpty: false });
  late.uptimeTold(2);
  late.uptimeTold(2);
  expect(late.unknown).toBe(1);
});

test('that the broker was empty shortly before counts for something at first, and for nothing after a lost connection', () => {
  const census = new ConnectionCensus();
  census.countTold(0, 1, true);
  expect(census).toMatchObject({ wasEmpty: true, unknown: null });
  const crowded = new ConnectionCensus();
  crowded.countTold(0, 1, true);
  crowded.strangersChanged(1);
  expect(crowded).toMatchObject({ wasEmpty: false, unknown: null });
  census.countTold(2, 1, false);
  expect(census).toMatchObject({ wasEmpty: false, unknown: 1 });
  census.strangersChanged(1);
  expect(census.unknown).toBe(2);
  census.beginAnew();
  census.countTold(0, 1, true);
  expect(census).toMatchObject({ wasEmpty: false, unknown: null, isCounted: false });
});

test('who waits for a count goes on with it, in time, or at the end', async () => {
  const census = new ConnectionCensus();
  const counted = census.whenCounted(60_000);
  census.countTold(1, 1, false);
  await counted;
  await census.whenCounted(1);
  const closing = census.whenCounted(60_000);
  census.close();
  await closing;
});
