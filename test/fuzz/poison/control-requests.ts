import { once } from 'node:events';
import { connectAsync } from 'mqtt';
import { onTestFinished } from '../../support/shared.ts';
import type { Random } from '../random.ts';
import { PAYLOADS } from './poison-messages.ts';
import { PoisonedJson } from './poisoned-json.ts';

type Command = readonly [api: string, command: string, fields: Readonly<Record<string, unknown>>];

const account = { username: 'fuzz', password: 'fuzz', clientid: 'fuzz', textname: 'Fuzz', textdescription: 'fuzz' };
const roles = [{ rolename: 'fuzz', priority: 1 }];
const rule = { acltype: 'subscribePattern', topic: 'fuzz/%u/#', priority: 1, allow: true };
const page = { verbose: true, count: 10, offset: 0 };
const top = { by: 'MESSAGES_IN', last: 'MINUTE', count: 10 };
const stream = {
  streamname: 'fuzz',
  source_topic: 'fuzz/#',
  target_topic: 'out',
  query: { select: [], where: [] },
  ttl: 60,
};

/** Commands of all APIs of the embedded broker. None is about the account of the service. */
const COMMANDS: readonly Command[] = [
  ['dynamic-security', 'createRole', { rolename: 'fuzz', acls: [rule], allowwildcardsubs: true, ...account }],
  ['dynamic-security', 'createGroup', { groupname: 'fuzz', roles, ...account }],
  ['dynamic-security', 'createClient', { ...account, roles, groups: [{ groupname: 'fuzz', priority: 1 }] }],
  ['dynamic-security', 'modifyRole', { rolename: 'fuzz', acls: [rule], textname: 'x' }],
  ['dynamic-security', 'modifyGroup', { groupname: 'fuzz', roles, clients: [{ username: 'fuzz', priority: 1 }] }],
  ['dynamic-security', 'modifyClient', { ...account, roles }],
  ['dynamic-security', 'addRoleACL', { rolename: 'fuzz', ...rule }],
  ['dynamic-security', 'removeRoleACL', { rolename: 'fuzz', ...rule }],
  ['dynamic-security', 'addClientRole', { username: 'fuzz', rolename: 'fuzz', priority: 1 }],
  ['dynamic-security', 'addGroupClient', { groupname: 'fuzz', username: 'fuzz', priority: 1 }],
  ['dynamic-security', 'setClientPassword', { username: 'fuzz', password: 'other' }],
  ['dynamic-security', 'setClientId', { username: 'fuzz', clientid: 'other' }],
  ['dynamic-security', 'setAnonymousGroup', { groupname: 'fuzz' }],
  ['dynamic-security', 'setDefaultACLAccess', { acls: [{ acltype: 'subscribe', allow: true }] }],
  ['dynamic-security', 'getClient', { username: 'fuzz' }],
  ['dynamic-security', 'getRole', { rolename: 'fuzz' }],
  ['dynamic-security', 'getGroup', { groupname: 'fuzz' }],
  ['dynamic-security', 'listClients', page],
  ['dynamic-security', 'listRoles', page],
  ['dynamic-security', 'listGroups', page],
  ['dynamic-security', 'deleteClient', { username: 'fuzz' }],
  ['dynamic-security', 'deleteRole', { rolename: 'fuzz' }],
  ['cedalo/inspect', 'listClients', page],
  ['cedalo/inspect', 'getClient', { clientid: 'fuzz' }],
  ['cedalo/inspect', 'listClientEvents', { after: 0 }],
  ['cedalo/inspect', 'listTopClients', top],
  ['cedalo/inspect', 'listTopTopics', { ...top, levels: 2 }],
  ['cedalo/inspect', 'getLastPublisher', { topic: 'fuzz/a' }],
  ['cedalo/client-control', 'disconnectClient', { clientid: 'nobody' }],
  ['cedalo/client-control', 'subscribe', { clientid: 'nobody', topic: 'fuzz/#', qos: 1 }],
  ['brokergraph/refusals', 'listRefusals', { after: 0, before: 100, count: 10 }],
  ['stream-processing', 'createStream', stream],
  ['stream-processing', 'modifyStream', stream],
  ['stream-processing', 'getStream', { streamname: 'fuzz' }],
  ['stream-processing', 'listStreams', page],
  ['stream-processing', 'deleteStream', { streamname: 'fuzz' }],
  ['cedalo/topictree', 'getTopicTree', page],
  ['broker', 'listPlugins', {}],
  ['broker', 'listListeners', {}],
];
const TOPICS = ['$CONTROL/+/v1/response', '$CONTROL/+/+/v1/response'];

/**
 * Sends commands with odd values to an embedded broker, and some payloads that are no commands. Rejects if one has no
 * response.
 */
export async function sendControlRequests(url: string, password: string, random: Random, count: number): Promise<void> {
  const client = await connectAsync(url, { username: 'admin', password, clientId: 'poison', protocolVersion: 5 });
  onTestFinished(() => void client.end(true));
  await client.subscribeAsync(TOPICS);
  const waiting = new Map<string, () => void>();
  client.on('message', (_topic, payload) => {
    for (const { correlationData } of JSON.parse(String(payload)).responses ?? []) waiting.get(correlationData)?.();
  });
  const json = new PoisonedJson(random, ['fields']);
  for (let nth = 0; nth < count; nth += 1) {
    const [api, command, fields] = random.pick(COMMANDS);
    const topic = `$CONTROL/${api}/v1`;
    if (random.chance(0.05)) await client.publishAsync(topic, random.pick(PAYLOADS), { qos: 1 });
    const correlationData = String(nth);
    const members = json.write(fields, 'fields').slice(1, -1);
    const payload = `{"commands":[{"command":"${command}","correlationData":"${nth}"${members && ','}${members}}]}`;
    const answered = new Promise<void>((resolve) => waiting.set(correlationData, resolve));
    await client.publishAsync(topic, payload, { qos: 1 });
    const timeout = AbortSignal.timeout(30_000);
    await Promise.race([
      answered,
      once(timeout, 'abort').then(() => {
        throw new Error(`No response to ${topic}: ${payload.slice(0, 2_000)}`);
      }),
    ]);
    waiting.delete(correlationData);
  }
}
