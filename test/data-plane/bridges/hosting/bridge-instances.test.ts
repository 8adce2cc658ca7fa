import { expect, onTestFinished, test, vi } from 'vitest';
import { BaseBridge } from '../../../../src/data-plane/bridges/hosting/base-bridge.ts';
import { bridgeInstances } from '../../../../src/data-plane/bridges/hosting/bridge-instances.ts';
import type { BridgeConnectionStatus } from '../../../../src/data-plane/bridges/model/bridge-status.ts';
import { Instances } from '../../../../src/protocol/hosting/serve-instances.ts';
import type { FromWorker } from '../../../../src/protocol/hosting/worker-messages.ts';

const setup = {
  brokerId: 'plant',
  bridgeId: 'some-bridge',
  local: { id: 'plant', url: 'mqtt://127.0.0.1', timeoutMs: 1_000 },
  rules: { allowedHosts: [] },
  folder: '/nowhere',
};

class TestBridge extends BaseBridge<unknown> {
  readonly steps: string[] = [];
  connections: readonly BridgeConnectionStatus[] = [];

  status() {
    return this.connections;
  }

  notify(part: 'STATE' | 'COUNTS') {
    this.changed(part);
  }

  protected queuesOf() {
    return [];
  }

  protected async applyNext(config: unknown) {
    this.steps.push(`apply ${config}`);
    if (config === 'hang') await new Promise(() => undefined);
    await new Promise((resolve) => setImmediate(resolve));
    this.steps.push(`applied ${config}`);
    if (config === 'broken') throw new Error('it is broken');
  }

  protected async closeAll(discard: boolean) {
    this.steps.push(`close ${discard}`);
  }
}

const newBridge = () => new TestBridge({ ...setup, onFault: () => undefined });

test('configurations are applied one after the other, and a close waits for the last one', async () => {
  const failures: string[] = [];
  const bridge = newBridge();
  const kind = bridgeInstances(async () => bridge);
  const context = { emit: () => undefined, fail: (reason: string) => failures.push(reason), problem: () => undefined };
  const { api, close } = await kind.create(setup, context);
  const broken = api.apply('broken');
  const applied = api.apply('good');
  const closed = close(false);
  await expect(broken).rejects.toThrow('it is broken');
  await Promise.all([applied, closed]);
  expect(bridge.steps).toEqual(['apply broken', 'applied broken', 'apply good', 'applied good', 'close false']);
  expect(failures).toEqual(['it is broken']);
});

test('a bridge that hangs in apply is closed after the timeout, which is logged, and the next one runs', async () => {
  const bridges = [newBridge(), newBridge()];
  let numStarted = 0;
  const kind = bridgeInstances(async () => {
    const bridge = bridges[numStarted];
    if (bridge === undefined) throw new Error('only two bridges are started');
    numStarted += 1;
    return bridge;
  });
  const sent: FromWorker<unknown>[] = [];
  const instances = new Instances({ ...kind, closeTimeoutMs: 20 }, (message) => sent.push(message));
  const results = () => sent.flatMap((message) => (message.type === 'result' ? [message.call] : []));
  instances.receive({ type: 'create', instance: 1, setup });
  instances.receive({ type: 'call', call: 1, instance: 1, method: 'apply', args: ['hang'] });
  await expect.poll(() => bridges[0]?.steps).toEqual(['apply hang']);
  instances.receive({ type: 'close', call: 2, instance: 1, discard: false });
  instances.receive({ type: 'create', instance: 2, setup });
  instances.receive({ type: 'call', call: 3, instance: 2, method: 'apply', args: ['good'] });
  await expect.poll(results).toEqual([2, 3]);
  expect(bridges[1]?.steps).toEqual(['apply good', 'applied good']);
  expect(sent.flatMap((message) => (message.type === 'log' ? [message.text] : []))).toEqual([
    'an instance did not close in time',
  ]);
});

test('a change of state is reported immediately, and counts at most twice a second with their last values', () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const bridge = newBridge();
  let received = 0;
  const reported: number[] = [];
  bridge.onStatus(() => reported.push(received));
  bridge.notify('STATE');
  expect(reported.splice(0)).toEqual([0]);
  for (received = 1; received < 10; received += 1) bridge.notify('COUNTS');
  vi.advanceTimersByTime(499);
  expect(reported).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(reported.splice(0)).toEqual([10]);
  // A change of state includes the counts.
  bridge.notify('COUNTS');
  bridge.notify('STATE');
  bridge.notify('STATE');
  expect(reported.splice(0)).toEqual([10, 10]);
  bridge.notify('COUNTS');
  void bridge.close({ discard: false });
  vi.advanceTimersByTime(10_000);
  expect(reported).toEqual([]);
});
