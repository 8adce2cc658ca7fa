import { expect, onTestFinished, test } from 'vitest';
import { TopicAskers } from '../../../../src/domains/topic-tree/control/topic-askers.ts';
import { TOPIC_API } from '../../../../src/domains/topic-tree/control/topic-control.ts';
import { unheardFilters } from '../../../../src/domains/topic-tree/control/unheard-filters.ts';
import type { PluginFactory } from '../../../../src/protocol/control/plugin.ts';
import { ADMIN, startMosquitto } from '../../../support/mosquitto.ts';
import { controlsOf, makePlugin } from './topic-world.ts';

const ALICE = { username: 'alice', password: 'alice in the plant' } as const;

/** A Mosquitto where nothing is received by default, and alice may subscribe to all; access is written and read by the administrator. */
async function startWithAlice() {
  const broker = await startMosquitto({ access: 'dynsec' });
  const { plugin, recorder, settings } = makePlugin();
  const factory: PluginFactory = { api: TOPIC_API, create: async () => plugin };
  const controls = await controlsOf(broker.url, [factory], { ...ADMIN });
  const command = (name: string, fields: object) => controls.call('dynamic-security', name, { ...fields });
  const receive = (rolename: string, topic: string, allow: boolean, priority = 0) =>
    command('addRoleACL', { rolename, acltype: 'publishClientReceive', topic, allow, priority });
  await command('setDefaultACLAccess', { acls: [{ acltype: 'publishClientReceive', allow: false }] });
  for (const rolename of ['reader', 'shared']) await command('createRole', { rolename });
  await command('addRoleACL', { rolename: 'reader', acltype: 'subscribePattern', topic: '#', allow: true });
  await command('createGroup', { groupname: 'plant', roles: [{ rolename: 'shared' }] });
  await command('createClient', { ...ALICE, roles: [{ rolename: 'reader' }], groups: [{ groupname: 'plant' }] });
  const askers = new TopicAskers();
  onTestFinished(() => askers.close());
  return { broker, controls, recorder, settings, asker: askers.of(controls), command, receive };
}

test('filters that may be subscribed to, and of which nothing may be received, are told with the missing right', async () => {
  const { controls, recorder, settings, asker, command, receive } = await startWithAlice();
  const unheard = (filters: string[]) => unheardFilters(controls, 'alice', filters);
  expect(await asker.status('alice')).toMatchObject({
    state: 'DENIED',
    deniedFilters: ['#'],
    reason: expect.stringMatching(/"alice" needs an ACL of type publishClientReceive/),
  });
  await receive('shared', 'plant/+/speed', true);
  expect(await asker.status('alice')).toMatchObject({ state: 'RECORDING', deniedFilters: [], reason: null });
  expect(await unheard(['plant/#', '+/line1/#', 'plant/+/heat', '$SYS/#', 'other'])).toEqual([
    'plant/+/heat',
    '$SYS/#',
    'other',
  ]);
  settings.changeElsewhere({ filters: ['plant/a/speed', 'other/#'] });
  expect(await asker.status('alice')).toMatchObject({ state: 'DENIED', deniedFilters: ['other/#'] });

  // Her own role is looked at before that of her group.
  await receive('reader', 'plant/#', false);
  expect(await unheard(['plant/#', '#', 'other'])).toEqual(['plant/#', 'other']);
  await command('setDefaultACLAccess', { acls: [{ acltype: 'publishClientReceive', allow: true }] });
  expect(await unheard(['plant/#', '#', 'other'])).toEqual(['plant/#']);

  recorder.publish('other/heard');
  expect(await asker.status('alice')).toMatchObject({ state: 'RECORDING', published: { count: 1 } });
});

test('of whom the broker tells nothing, nothing is said', async () => {
  const { broker, controls, command } = await startWithAlice();
  expect(await unheardFilters(controls, 'nobody', ['#'])).toEqual([]);
  expect(await unheardFilters(controls, 'admin', ['#'])).toEqual([]);
  await command('createGroup', { groupname: 'anybody' });
  await command('setAnonymousGroup', { groupname: 'anybody' });
  expect(await unheardFilters(controls, null, ['#'])).toEqual(['#']);
  expect(await unheardFilters(await controlsOf(broker.url, [], { ...ALICE }), 'alice', ['#'])).toEqual([]);
});
