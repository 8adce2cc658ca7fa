import { expect, onTestFinished, test } from 'vitest';
import { TOPIC_API } from '../../../../src/data-plane/topic-tree/control/topic-control.ts';
import { TopicSources } from '../../../../src/domains/topic-tree/control/topic-sources.ts';
import { withheldFilters } from '../../../../src/domains/topic-tree/control/withheld-filters.ts';
import type { PluginFactory } from '../../../../src/protocol/control/plugin.ts';
import { ADMIN, startMosquitto } from '../../../support/mosquitto.ts';
import { controlsOf, makePlugin } from './topic-world.ts';

const ALICE = { username: 'alice', password: 'alice in the plant' } as const;

/**
 * A Mosquitto that sends no messages by default. Alice may subscribe to all topics. The administrator writes and reads
 * the access control.
 */
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
  const sources = new TopicSources();
  onTestFinished(() => sources.close());
  return { broker, controls, recorder, settings, source: sources.of(controls), command, receive };
}

test('filters whose messages may not be received are reported with the missing permission', async () => {
  const { controls, recorder, settings, source, command, receive } = await startWithAlice();
  const unheard = (filters: string[]) => withheldFilters(controls, 'alice', filters);
  expect(await source.status('alice')).toMatchObject({
    state: 'DENIED',
    deniedFilters: ['#'],
    reason: expect.stringMatching(/"alice" needs an ACL of type publishClientReceive/),
  });
  await receive('shared', 'plant/+/speed', true);
  expect(await source.status('alice')).toMatchObject({ state: 'RECORDING', deniedFilters: [], reason: null });
  expect(await unheard(['plant/#', '+/line1/#', 'plant/+/heat', '$SYS/#', 'other'])).toEqual([
    'plant/+/heat',
    '$SYS/#',
    'other',
  ]);
  settings.changeElsewhere({ filters: ['plant/a/speed', 'other/#'] });
  expect(await source.status('alice')).toMatchObject({ state: 'DENIED', deniedFilters: ['other/#'] });

  // The role of the account precedes the role of its group.
  await receive('reader', 'plant/#', false);
  expect(await unheard(['plant/#', '#', 'other'])).toEqual(['plant/#', 'other']);
  await command('setDefaultACLAccess', { acls: [{ acltype: 'publishClientReceive', allow: true }] });
  expect(await unheard(['plant/#', '#', 'other'])).toEqual(['plant/#']);

  recorder.publish('other/heard');
  expect(await source.status('alice')).toMatchObject({ state: 'RECORDING', published: { count: 1 } });
});

test('no filters are reported for accounts that the broker does not describe', async () => {
  const { broker, controls, command } = await startWithAlice();
  expect(await withheldFilters(controls, 'nobody', ['#'])).toEqual([]);
  expect(await withheldFilters(controls, 'admin', ['#'])).toEqual([]);
  await command('createGroup', { groupname: 'anybody' });
  await command('setAnonymousGroup', { groupname: 'anybody' });
  expect(await withheldFilters(controls, null, ['#'])).toEqual(['#']);
  expect(await withheldFilters(await controlsOf(broker.url, [], { ...ALICE }), 'alice', ['#'])).toEqual([]);
});
