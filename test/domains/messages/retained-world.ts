import type { MqttClient } from 'mqtt';
import type { GraphqlAnswer, TestService } from '../../support/service.ts';

type Place = { readonly service: TestService; readonly brokerId: string };

const RETAINED = `query ($b: ID!, $f: String, $s: String, $n: Int, $a: String, $bytes: Int) {
  broker(id: $b) {
    retainedMessages(filter: $f, search: $s, first: $n, after: $a, maxPayloadBytes: $bytes) {
      totalCount completeness pageInfo { hasNextPage hasPreviousPage endCursor }
      nodes { topic payload payloadBase64 payloadBytes isPayloadTruncated qos contentType expiresAt }
    }
  }
}`;

/** A line of mosquitto.conf: deletions are acknowledged one by one, so that one takes seconds. */
export const SLOW = 'max_inflight_messages 1';

export const DELETION = `
  state isDryRun filter total deletedCount wouldDeleteCount remainingCount refusedCount unknownCount acknowledgedCount
  notFoundCount isComplete interruptions problem endedAt results { topic status error { code info } }`;

const DELETE = `mutation ($input: DeleteRetainedMessagesInput!) {
  deleteRetainedMessages(input: $input) { broker { id } deletion { ${DELETION} } }
}`;

const errorOf = ({ errors }: GraphqlAnswer) => ({ message: errors?.[0]?.message, ...errors?.[0]?.extensions });

export const PUBLISH = `mutation ($input: PublishMessageInput!) {
  publishMessage(input: $input) { topic payloadBytes outcome reasonCode protocolVersion remarks broker { id } }
}`;

/** The page, or the error. */
export async function retained({ service, brokerId }: Place, variables: object = {}, token?: string) {
  const answer = await service.graphql(RETAINED, { b: brokerId, ...variables }, token);
  return answer.errors ? errorOf(answer) : answer.data.broker.retainedMessages;
}

export async function deleteRetained({ service, brokerId }: Place, input: object, token?: string) {
  const answer = await service.graphql(DELETE, { input: { brokerId, ...input } }, token);
  return answer.errors ? errorOf(answer) : answer.data.deleteRetainedMessages.deletion;
}

export async function publish({ service, brokerId }: Place, input: object, token?: string) {
  const answer = await service.graphql(PUBLISH, { input: { brokerId, ...input } }, token);
  return answer.errors ? errorOf(answer) : answer.data.publishMessage;
}

/** Publishes retained messages with QoS 1. */
export async function retain(client: MqttClient, topics: readonly string[], payload: string | Buffer): Promise<void> {
  for (let start = 0; start < topics.length; start += 1_000) {
    const part = topics.slice(start, start + 1_000);
    await Promise.all(part.map((topic) => client.publishAsync(topic, payload, { retain: true, qos: 1 })));
  }
}

export const topicsOf = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `plant/${index % 100}/device${index}/state`);

export const acl = (acltype: string, topic: string, allow = true) => ({ acltype, topic, allow, priority: 0 });

/** Lets the account `service` with the password `p` read dynamic security and `$SYS`, and what `acls` allow. */
export const serviceAccount = (acls: readonly object[]): object[] => [
  {
    command: 'createRole',
    rolename: 'manager',
    acls: ['$CONTROL/#', '$SYS/#'].flatMap((topic) => [
      acl('publishClientSend', topic),
      acl('publishClientReceive', topic),
      acl('subscribePattern', topic),
    ]),
  },
  { command: 'createRole', rolename: 'guest', acls },
  {
    command: 'createClient',
    username: 'service',
    password: 'p',
    roles: [
      { rolename: 'guest', priority: 2 },
      { rolename: 'manager', priority: 1 },
    ],
  },
  {
    command: 'createRole',
    rolename: 'all',
    acls: [acl('publishClientSend', '#'), acl('subscribePattern', '#'), acl('publishClientReceive', '#')],
  },
  { command: 'createClient', username: 'device', password: 'p', roles: [{ rolename: 'all' }] },
];
