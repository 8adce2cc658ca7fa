import { expect, test } from 'vitest';
import { ServiceError } from '../../../src/platform/errors.ts';
import { Instances, type RunningInstance } from '../../../src/protocol/hosting/serve-instances.ts';
import type { FromWorker } from '../../../src/protocol/hosting/worker-messages.ts';

interface Api {
  work(text: string): unknown;
}

type Create = (setup: string, created: number) => RunningInstance<Api> | Promise<RunningInstance<Api>>;

/** Instances in this thread: `call` and `close` resolve with the message that the service would receive. */
function startInstances(create: Create, closeTimeoutMs?: number) {
  const sent: FromWorker<string>[] = [];
  let created = 0;
  const instances = new Instances<string, Api, string>(
    {
      keyOf: (setup) => setup,
      ...(closeTimeoutMs === undefined ? {} : { closeTimeoutMs }),
      create: (setup) => {
        created += 1;
        return create(setup, created);
      },
    },
    (message) => sent.push(message),
  );
  let calls = 0;
  const response = async (call: number) => {
    await expect.poll(() => sent.some((message) => 'call' in message && message.call === call)).toBe(true);
    return sent.find((message) => 'call' in message && message.call === call);
  };
  return {
    sent,
    create: (instance: number, setup: string) => instances.receive({ type: 'create', instance, setup }),
    call: (instance: number, text = '') => {
      calls += 1;
      instances.receive({ type: 'call', call: calls, instance, method: 'work', args: [text] });
      return response(calls);
    },
    close: (instance: number) => {
      calls += 1;
      instances.receive({ type: 'close', call: calls, instance, discard: false });
      return response(calls);
    },
  };
}

const logged = (sent: readonly FromWorker<string>[]) =>
  sent.flatMap((message) => (message.type === 'log' ? [message.text] : []));
const never = new Promise<void>(() => undefined);

test('a close that hangs is logged, and the next instance with the same key runs', async () => {
  const { sent, create, call, close } = startInstances(
    (_setup, created) => ({
      api: { work: () => created },
      close: () => (created === 1 ? never : Promise.resolve()),
    }),
    20,
  );
  create(1, 'key');
  expect(await call(1)).toMatchObject({ type: 'result', value: 1 });
  const closed = close(1);
  create(2, 'key');
  expect(await call(2)).toMatchObject({ type: 'result', value: 2 });
  expect(await closed).toMatchObject({ type: 'result' });
  expect(logged(sent)).toEqual(['an instance did not close in time']);
  await close(2);
  expect(logged(sent)).toHaveLength(1);
});

test('a call that never returns fails when its instance was closed', async () => {
  const { create, call, close } = startInstances(() => ({
    api: { work: (text) => (text === '' ? never : text) },
    close: () => Promise.resolve(),
  }));
  create(1, 'key');
  expect(await call(1, 'text')).toMatchObject({ type: 'result', value: 'text' });
  const called = call(1);
  expect(await close(1)).toMatchObject({ type: 'result' });
  expect(await called).toMatchObject({ type: 'error', error: { code: 'BROKER_UNREACHABLE' } });
});

test('an instance waits for the close of the previous one with the same key, and not for others', async () => {
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const order: string[] = [];
  const { create, call, close } = startInstances((setup, created) => {
    order.push(`${setup} created`);
    const done = async () => {
      await finished;
      order.push(`${setup} closed`);
    };
    return { api: { work: (text) => text }, close: () => (created === 1 ? done() : Promise.resolve()) };
  });
  create(1, 'a');
  await call(1);
  const closed = close(1);
  create(2, 'a');
  create(3, 'b');
  await call(3);
  finish();
  await closed;
  await call(2);
  expect(order).toEqual(['a created', 'b created', 'a closed', 'a created']);
});

test('an error keeps its code and info, a bug becomes INTERNAL_ERROR, and its reason is logged once', async () => {
  const { sent, create, call } = startInstances(() => ({
    api: {
      work: (text) => {
        if (text === 'bug') throw new Error('a secret');
        throw new ServiceError('INVALID', 'No', { info: { issues: [] } });
      },
    },
    close: () => Promise.resolve(),
  }));
  create(1, 'key');
  expect(await call(1)).toMatchObject({ error: { code: 'INVALID', message: 'No', info: { issues: [] } } });
  for (const response of await Promise.all([call(1, 'bug'), call(1, 'bug')])) {
    expect(response).toMatchObject({ error: { code: 'INTERNAL_ERROR', message: 'The command failed' } });
  }
  expect(logged(sent)).toEqual(['a call failed in the worker thread']);
});

test('an instance that cannot be created is reported with the reason, and its calls are refused', async () => {
  const { sent, create, call, close } = startInstances(() => Promise.reject(new Error('no folder')));
  create(7, 'key');
  expect(await call(7)).toMatchObject({ error: { code: 'BROKER_UNREACHABLE' } });
  expect(sent).toContainEqual({ type: 'failed', instance: 7, reason: 'no folder' });
  expect(await close(7)).toMatchObject({ type: 'result' });
});
