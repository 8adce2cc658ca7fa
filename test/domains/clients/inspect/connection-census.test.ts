import { expect, test } from 'vitest';
import { ConnectionCensus } from '../../../../src/domains/clients/inspect/connection-census.ts';

test('a live count is compared with the known connections, and the number of unknown ones only falls until the next count', () => {
  const census = new ConnectionCensus();
  expect(census).toMatchObject({ unknown: null, isCounted: false, wasEmpty: false });
  census.countReceived(5, 2, false);
  expect(census).toMatchObject({ unknown: 3, isCounted: true });
  census.unknownChanged(-1);
  expect(census.unknown).toBe(2);
  census.countReceived(2, 2, false);
  census.unknownChanged(-1);
  expect(census.unknown).toBe(0);
  // Fewer than are known, so the number of unknown ones is not known.
  census.countReceived(1, 2, false);
  expect(census).toMatchObject({ unknown: null, isCounted: true });
});

test('a count that is not repeated is confirmed by the next uptime, for the connections known then', () => {
  const census = new ConnectionCensus();
  census.countReceived(4, 3, false);
  census.uptimeReceived(4);
  expect(census.unknown).toBe(1);
  census.messageReceived();
  expect(census.unknown).toBe(0);
  census.uptimeReceived(3);
  census.countReceived(5, 3, false);
  census.messageReceived();
  expect(census.unknown).toBe(2);
  // Also the retained one of before, which alone proves nothing.
  const late = new ConnectionCensus();
  late.countReceived(3, 1, true);
  expect(late).toMatchObject({ unknown: null, isCounted: false, wasEmpty: false });
  late.uptimeReceived(2);
  late.uptimeReceived(2);
  expect(late.unknown).toBe(1);
});

test('an empty broker shortly before is evidence at first, and none after a lost connection', () => {
  const census = new ConnectionCensus();
  census.countReceived(0, 1, true);
  expect(census).toMatchObject({ wasEmpty: true, unknown: null });
  const crowded = new ConnectionCensus();
  crowded.countReceived(0, 1, true);
  crowded.unknownChanged(1);
  expect(crowded).toMatchObject({ wasEmpty: false, unknown: null });
  census.countReceived(2, 1, false);
  expect(census).toMatchObject({ wasEmpty: false, unknown: 1 });
  census.unknownChanged(1);
  expect(census.unknown).toBe(2);
  census.reset();
  census.countReceived(0, 1, true);
  expect(census).toMatchObject({ wasEmpty: false, unknown: null, isCounted: false });
});

test('a caller that waits for a count continues with the count, at the timeout, or when the census closes', async () => {
  const census = new ConnectionCensus();
  const counted = census.whenCounted(60_000);
  census.countReceived(1, 1, false);
  await counted;
  await census.whenCounted(1);
  const closing = census.whenCounted(60_000);
  census.close();
  await closing;
});
