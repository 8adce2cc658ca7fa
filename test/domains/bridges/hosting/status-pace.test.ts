import { expect, onTestFinished, test, vi } from 'vitest';
import { StatusPace } from '../../../../src/domains/bridges/hosting/status-pace.ts';
import type { BridgeConnectionStatus } from '../../../../src/domains/bridges/model/bridge-status.ts';

const CONNECTING: BridgeConnectionStatus = {
  connectionName: 'one',
  isConnected: false,
  state: 'CONNECTING',
  since: 1,
  queuedMessages: 0,
  queuedBytes: 0,
  received: 0,
  delivered: 0,
  dropped: 0,
  rejected: 0,
};

test('a change of state is told at once, and counts alone at most twice a second, as they are then', () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  let status = CONNECTING;
  const told: string[] = [];
  const pace = new StatusPace(
    () => [status],
    ([first]) => told.push(`${first?.state} ${first?.received} ${first?.error ?? ''}`.trim()),
  );
  const becomes = (change: Partial<BridgeConnectionStatus>) => {
    status = { ...status, ...change };
    pace.changed();
  };
  becomes({});
  becomes({ state: 'CONNECTED', isConnected: true });
  expect(told.splice(0)).toEqual(['CONNECTING 0', 'CONNECTED 0']);
  for (let received = 1; received <= 10; received += 1) becomes({ received });
  vi.advanceTimersByTime(499);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(told.splice(0)).toEqual(['CONNECTED 10']);
  // With a change of state the counts are told, too.
  becomes({ received: 11 });
  becomes({ state: 'UNREACHABLE', isConnected: false, error: 'gone' });
  becomes({ error: 'still gone' });
  expect(told.splice(0)).toEqual(['UNREACHABLE 11 gone', 'UNREACHABLE 11 still gone']);
  becomes({ received: 12 });
  pace.close();
  vi.advanceTimersByTime(10_000);
  expect(told).toEqual([]);
});
