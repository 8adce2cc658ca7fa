import { expect, onTestFinished, test } from 'vitest';
import { ServiceError } from '../../../src/platform/errors.ts';
import { ANYTHING, LocalChanges } from '../../../src/platform/storage/changes/changes.ts';
import type { ControlCommand, ControlEvent } from '../../../src/protocol/control/envelope.ts';
import { type EventForwarding, type Follower, HostedEvents } from '../../../src/protocol/hosting/hosted-events.ts';

const API = 'cedalo/topictree';
const forwarding: EventForwarding = {
  keyOf: () => null,
  command: (key) => ({ command: 'get', key }),
  eventsOf: (response) => [{ type: 'event', event: 'changed', response }],
};

/** Two processes that share announcements. */
function startEvents(respond: (command: ControlCommand) => Promise<unknown>) {
  const changes = new LocalChanges();
  const requested: unknown[] = [];
  const faults: unknown[] = [];
  const open = () => {
    const opened = new HostedEvents({
      changes,
      call: (_brokerId, _api, command) => {
        requested.push(command.key);
        return respond(command);
      },
      guard: (work) => work.catch((error) => faults.push(error)),
    });
    onTestFinished(() => opened.close());
    return opened;
  };
  return { changes, requested, faults, sender: open(), follower: open() };
}

function listener(hears: { isListening: boolean }) {
  const events: ControlEvent[] = [];
  const follow: Follower = {
    api: API,
    forwarding,
    isListening: () => hears.isListening,
    emit: (event) => events.push(event),
  };
  return { events, follow };
}

test('keys that change within one interval are announced once, also keys with a space', async () => {
  const { sender, follower, requested } = startEvents(async ({ key }) => key);
  const { events, follow } = listener({ isListening: true });
  follower.follow('brk_1', follow);
  for (const key of ['a stream', 'a stream', 'b']) sender.announce('brk_1', API, key);
  sender.announce('brk_2', API, 'of another broker');
  sender.announce('brk_1', 'cedalo/ha', 'of another API');
  await expect.poll(() => events.map(({ response }) => response)).toEqual(['a stream', 'b']);
  expect(requested).toEqual(['a stream', 'b']);
  for (let index = 0; index <= 100; index += 1) sender.announce('brk_1', API, String(index));
  await expect.poll(() => requested).toEqual(['a stream', 'b', null]);
});

test('a follower requests nothing while it does not listen, and everything after lost announcements', async () => {
  const { changes, follower, requested } = startEvents(async () => 'all');
  const hears = { isListening: false };
  const { events, follow } = listener(hears);
  const stop = follower.follow('brk_1', follow);
  changes.notify('hostedChange', ANYTHING);
  expect(requested).toEqual([]);
  hears.isListening = true;
  changes.notify('hostedChange', ANYTHING);
  await expect.poll(() => events).toEqual([{ type: 'event', event: 'changed', response: 'all' }]);
  expect(requested).toEqual([null]);
  stop();
  changes.notify('hostedChange', ANYTHING);
  expect(requested).toEqual([null]);
});

test('a refused request emits no event, and a bug is passed to `guard`', async () => {
  const refusals: Record<string, unknown> = { gone: new ServiceError('NOT_FOUND', 'gone'), bug: new Error('a bug') };
  const { changes, follower, faults, requested } = startEvents(async ({ key }) => {
    const refusal = refusals[String(key)];
    if (refusal !== undefined) throw refusal;
    return key;
  });
  const { events, follow } = listener({ isListening: true });
  follower.follow('brk_1', follow);
  for (const key of ['gone', 'there', 'bug']) await changes.announce('hostedChange', `brk_1 ${API} ${key}`);
  await expect.poll(() => faults).toEqual([refusals.bug]);
  expect(requested).toEqual(['gone', 'there', 'bug']);
  expect(events.map(({ response }) => response)).toEqual(['there']);
});
