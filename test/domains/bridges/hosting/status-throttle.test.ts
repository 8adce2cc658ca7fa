import { expect, onTestFinished, test, vi } from 'vitest';
import { StatusThrottle } from '../../../../src/domains/bridges/hosting/status-throttle.ts';
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

test('a change of state is emitted immediately, and changed counts at most twice a second with their last values', () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  let status = CONNECTING;
  const emitted: string[] = [];
  const throttle = new StatusThrottle(
    () => [status],
    ([first]) => emitted.push(`${first?.state} ${first?.received} ${first?.error ?? ''}`.trim()),
  );
  const becomes = (change: Partial<BridgeConnectionStatus>) => {
    status = { ...status, ...change };
    throttle.changed();
  };
  becomes({});
  becomes({ state: 'CONNECTED', isConnected: true });
  expect(emitted.splice(0)).toEqual(['CONNECTING 0', 'CONNECTED 0']);
  for (let received = 1; received <= 10; received += 1) becomes({ received });
  vi.advanceTimersByTime(499);
  expect(emitted).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(emitted.splice(0)).toEqual(['CONNECTED 10']);
  // A change of state includes the counts.
  becomes({ received: 11 });
  becomes({ state: 'UNREACHABLE', isConnected: false, error: 'gone' });
  becomes({ error: 'still gone' });
  expect(emitted.splice(0)).toEqual(['UNREACHABLE 11 gone', 'UNREACHABLE 11 still gone']);
  becomes({ received: 12 });
  throttle.close();
  vi.advanceTimersByTime(10_000);
  expect(emitted).toEqual([]);
});
