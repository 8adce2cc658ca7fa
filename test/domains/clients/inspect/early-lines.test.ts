import { expect, onTestFinished, test } from 'vitest';
import { LogFollower } from '../../../../src/domains/clients/inspect/log-follower.ts';
import { startScriptedBroker } from '../../../support/aedes-broker.ts';
import { connectedLink } from '../../../support/link.ts';

const LINE_BYTES = 65_536;
/** More than the lines that wait may have. */
const LINES = 20;

test('lines wait for the version of the broker until they are too large', async () => {
  const broker = await startScriptedBroker(() => []);
  const link = await connectedLink({ url: broker.url });
  const ignore = () => undefined;
  const follower = new LogFollower(link, {
    lineTimeoutMs: 30_000,
    onChange: ignore,
    onEvent: ignore,
    onCount: ignore,
    onUnread: ignore,
    onRestart: ignore,
  });
  onTestFinished(() => follower.close());
  await expect.poll(() => broker.filters).toContain('$SYS/broker/log/#');
  const send = (text: string) => broker.publish('$SYS/broker/log/N', `1700000000: ${text}`);
  let hasArrived = false;
  await link.subscribe('test/arrived', () => (hasArrived = true));
  await send('New client connected from 127.0.0.1:1 as device (p5, c1, k60).');
  await broker.publish('test/arrived', '');
  await expect.poll(() => hasArrived).toBe(true);
  expect(follower.ledger.has('device')).toBe(false);
  for (let count = 0; count < LINES; count += 1) await send('x'.repeat(LINE_BYTES));
  await expect.poll(() => follower.ledger.has('device')).toBe(true);
});
