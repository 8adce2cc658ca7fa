import { expect, onTestFinished, test } from 'vitest';
import { Fleet } from '../../../src/protocol/mqtt/fleet.ts';
import { reached } from '../../support/link.ts';
import { ADMIN, startMosquitto } from '../../support/mosquitto.ts';

test('lazy links open when they are used, eager ones immediately, and both report their status by id', async () => {
  const broker = await startMosquitto();
  const fleet = new Fleet();
  onTestFinished(() => fleet.closeAll());
  const seen: string[] = [];
  fleet.onStatus((id, { state }) => seen.push(`${id} ${state}`));
  fleet.add({ id: 'one', url: broker.url, timeoutMs: 1_000 });
  fleet.add({ id: 'two', url: broker.url, timeoutMs: 1_000 }, 'LAZY');
  expect(fleet.find('two')).toBeNull();
  await reached(fleet.get('one'), 'CONNECTED');
  await reached(fleet.get('two'), 'CONNECTED');
  expect(fleet.openCount).toBe(2);
  await fleet.close('one');
  expect(() => fleet.get('one')).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }));
  await fleet.closeAll();
  expect(seen).toEqual(['one CONNECTED', 'two CONNECTED', 'one CLOSED', 'two CLOSED']);
});

test('new settings reconnect the same link and keep its subscriptions', async () => {
  const first = await startMosquitto();
  const second = await startMosquitto({ access: 'passwords' });
  const fleet = new Fleet();
  onTestFinished(() => fleet.closeAll());
  fleet.add({ id: 'b', url: first.url, timeoutMs: 1_000 });
  const link = fleet.get('b');
  await reached(link, 'CONNECTED');
  let heard: () => void = () => undefined;
  await link.subscribe('t', () => heard());
  fleet.replace('b', { id: 'b', url: second.url, timeoutMs: 1_000, ...ADMIN });
  expect(fleet.get('b')).toBe(link);
  await reached(link, 'CONNECTED');
  const arrived = new Promise<void>((resolve) => {
    heard = resolve;
  });
  await (await second.client()).publishAsync('t', 'x');
  await arrived;
  expect(() => fleet.replace('b', { id: 'b', url: 'gopher://x', timeoutMs: 1_000 })).toThrow();
  expect(link.status.state).toBe('CONNECTED');
});
