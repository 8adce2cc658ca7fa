import { describe, expect, test } from 'vitest';
import { startBrokerHere } from '../../data-plane/broker/embedded.ts';
import {
  ADMIN,
  FOLLOWED_LOG,
  type MosquittoOptions,
  pathOfMosquitto20,
  sinceVersion,
  startClient,
  startMosquitto,
} from '../../support/mosquitto.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { WireClient } from '../access-control/policy/wire-client.ts';
import { nodeInput } from './cluster-world.ts';

/*
 * Clusters of a Mosquitto 2.0 and a newer broker: the Mosquitto of this run if it is 2.1, next to the 2.0 of PATH, or
 * else an embedded broker, which evaluates rules like Mosquitto 2.1.
 */
const isNewer = sinceVersion({ '2.0.0': false, '2.1.0': true });
/** `null`: there is no 2.0 next to the newer one. */
const olderPath = isNewer ? pathOfMosquitto20() : process.env.PATH;

const startOlder = (options: MosquittoOptions = {}) =>
  startMosquitto({ access: 'dynsec', ...(olderPath && { searchPath: olderPath }), ...options });

const CREATE = 'mutation ($input: CreateClusterInput!) { createCluster(input: $input) { cluster { id brokerId } } }';
const WRITE = `mutation ($c: ID!, $changes: [AccessChangeInput!]!, $dryRun: Boolean) {
  changeAccessControl(input: { brokerId: $c, changes: $changes, dryRun: $dryRun }) { outcome nodes { nodeId outcome } }
}`;
const STATUS = `query ($c: ID!) { broker(id: $c) { cluster { state nodes { nodeId sync {
  state differences { kind name } differingRules { feature roleName aclType topic }
} } } } }`;
const EXPLAIN = `query ($c: ID!, $user: String!, $action: AccessAction!, $topic: String!) {
  explainAccess(brokerId: $c, username: $user, clientId: $user, action: $action, topic: $topic) {
    allowed remarks nodes { nodeId allowed error { code } }
  }
}`;
const KNOWS = 'query ($c: ID!) { broker(id: $c) { accessControl { knowsSubstitution knowsWildcardFlag } } }';

const acl = (aclType: string, topic: string, allow = true) => ({ aclType, topic, allow });
const roleWith = (...acls: readonly object[]) => ({ createAccessRole: { roleName: 'sensor', acls } });
const OWN_TOPIC = acl('PUBLISH_CLIENT_SEND', 'own/%c');
const NOT_KEPT = {
  code: 'NOT_SUPPORTED_BY_BROKER',
  info: { nodeId: expect.any(Number), roleName: 'sensor', reason: expect.stringContaining('2.1') },
};

interface Started {
  readonly port: number;
  readonly brokerId: string;
}

async function registered(service: TestService, name: string, port: number): Promise<Started> {
  const connection = { name, url: `mqtt://127.0.0.1:${port}`, ...ADMIN };
  const { body } = await service.rest('POST', `/api/projects/${service.projectId}/brokers`, service.root, connection);
  return { port, brokerId: body.id };
}

const newer = async (service: TestService, name = 'newer') =>
  registered(
    service,
    name,
    isNewer
      ? (await startMosquitto({ access: 'dynsec', logTypes: FOLLOWED_LOG })).port
      : (await startBrokerHere()).mqttPort,
  );
const older = async (service: TestService) => registered(service, 'older', (await startOlder()).port);

function driven(service: TestService) {
  const graph = async (document: string, variables: object) => {
    const { data, errors } = await service.graphql(document, { ...variables });
    if (errors) throw new Error(JSON.stringify(errors));
    // biome-ignore lint/suspicious/noExplicitAny: tests read the fields that they selected.
    return data as any;
  };
  const refusal = async (document: string, variables: object) =>
    (await service.graphql(document, { ...variables })).errors?.[0]?.extensions;
  const inputOf = (nodes: readonly Started[]) => ({
    projectId: service.projectId,
    name: 'plant',
    mode: 'DYNSEC',
    nodes: nodes.map(({ brokerId }, index) => nodeInput({ brokerId, nodeId: index + 1 })),
  });
  const create = async (...nodes: readonly Started[]) =>
    (await graph(CREATE, { input: inputOf(nodes) })).createCluster.cluster as { id: string; brokerId: string };
  const nodesOf = async (c: string) => (await graph(STATUS, { c })).broker.cluster.nodes;
  return { graph, refusal, inputOf, create, nodesOf };
}

/** What the broker does, by the reason codes of MQTT 5. */
async function isAllowed({ port }: Started, username: string, action: string, topic: string): Promise<boolean> {
  const client = await WireClient.connect({
    ...{ port, protocolVersion: 5, clean: true },
    ...{ clientId: username, username, password: 'secret' },
  });
  if (client === null) throw new Error('the client was refused');
  const code = action === 'PUBLISH' ? await client.publish(topic, 'x') : (await client.subscribe(topic))[0];
  await client.end();
  return (code ?? 255) < 128;
}

describe.skipIf(olderPath === null)('a cluster of mixed versions', () => {
  test.each([
    ['newer', 'older'],
    ['older', 'newer'],
  ])('rules that the older node cannot keep are refused, whichever node is first: %s, %s', async (...order) => {
    const service = await startTestService();
    const started = { newer: await newer(service), older: await older(service) };
    const { graph, refusal, create, nodesOf } = driven(service);
    const nodes = order.map((name) => started[name as 'newer' | 'older']);
    const { brokerId: c } = await create(...nodes);
    const olderId = order.indexOf('older') + 1;

    for (const dryRun of [true, false]) {
      for (const changes of [
        [roleWith(OWN_TOPIC)],
        [{ createAccessRole: { roleName: 'sensor', allowWildcardSubs: false } }],
        [roleWith(), { putAclRule: { roleName: 'sensor', acl: acl('SUBSCRIBE_PATTERN', '%u/#', false) } }],
      ]) {
        expect(await refusal(WRITE, { c, changes, dryRun })).toMatchObject({
          ...NOT_KEPT,
          info: { ...NOT_KEPT.info, nodeId: olderId },
        });
      }
    }
    expect((await graph(KNOWS, { c })).broker.accessControl).toEqual({
      knowsSubstitution: false,
      knowsWildcardFlag: false,
    });
    const kept = [
      { createAccessRole: { roleName: 'sensor', allowWildcardSubs: true, acls: [acl('SUBSCRIBE_LITERAL', '%c')] } },
    ];
    expect((await graph(WRITE, { c, changes: kept })).changeAccessControl).toMatchObject({
      outcome: 'APPLIED',
      nodes: [{ outcome: 'APPLIED' }, { outcome: 'APPLIED' }],
    });
    expect(await nodesOf(c)).toEqual(
      [1, 2].map((nodeId) => ({ nodeId, sync: { state: 'EQUAL', differences: [], differingRules: [] } })),
    );
  });

  test('a cluster is not created, joined or given a document with rules that the older node cannot keep', async () => {
    const service = await startTestService();
    const [first, second, third] = [await newer(service), await newer(service, 'second'), await older(service)];
    const { graph, refusal, inputOf, create, nodesOf } = driven(service);
    const changes = [roleWith(OWN_TOPIC, acl('PUBLISH_CLIENT_SEND', 'plant/%u/locked', false))];
    await graph(WRITE, { c: first.brokerId, changes });
    const rolesOf = async ({ brokerId }: Started) =>
      (await graph('query ($c: ID!) { exportAccessControl(brokerId: $c) }', { c: brokerId })).exportAccessControl.roles;

    const before = await rolesOf(third);
    expect(await refusal(CREATE, { input: inputOf([first, third]) })).toMatchObject({
      ...NOT_KEPT,
      info: { nodeId: 2 },
    });
    const { id: clusterId, brokerId: c } = await create(first, second);
    const JOIN = 'mutation ($input: JoinClusterInput!) { joinCluster(input: $input) { cluster { id } } }';
    const node = nodeInput({ brokerId: third.brokerId, nodeId: 3 });
    expect(await refusal(JOIN, { input: { clusterId, ...node } })).toMatchObject({ ...NOT_KEPT, info: { nodeId: 3 } });
    expect(await rolesOf(third)).toEqual(before);
    expect(await nodesOf(c)).toHaveLength(2);

    const document = (await graph('query ($c: ID!) { exportAccessControl(brokerId: $c) }', { c })).exportAccessControl;
    await graph(WRITE, { c, changes: [{ deleteAccessRole: { roleName: 'sensor' } }] });
    await graph(JOIN, { input: { clusterId, ...node } });
    const PLAN = 'query ($input: AccessControlImportInput!) { planAccessControl(input: $input) { notes } }';
    const APPLY = `mutation ($input: AccessControlImportInput!) {
    applyAccessControl(input: $input) { outcome notes nodes { outcome } }
  }`;
    const input = { brokerId: c, document };
    const { notes } = (await graph(PLAN, { input })).planAccessControl;
    expect(notes).toEqual([
      expect.stringMatching(/own\/%c/),
      expect.stringMatching(/WARNING, this may grant access.*plant\/%u\/locked/),
    ]);
    const { applyAccessControl } = await graph(APPLY, { input });
    expect(applyAccessControl).toMatchObject({
      outcome: 'APPLIED',
      notes,
      nodes: Array(3).fill({ outcome: 'APPLIED' }),
    });
    for (const broker of [first, third]) expect((await rolesOf(broker)).at(-1)).toEqual({ rolename: 'sensor' });
  });

  test.each([
    ['a literal rule', 'x/%c', { code: 'NOT_SUPPORTED_BY_BROKER', message: /^Node 1 .*"x\/%c" of the role "sensor"/ }],
    ['an empty topic', '', { code: 'INVALID', message: /^Node 2: ROLE "sensor": .*topic/ }],
  ])(
    'a rule of an older first node that newer nodes read differently or refuse is not copied: %s',
    async (_name, topic, refused) => {
      const service = await startTestService();
      const mosquitto = await startOlder();
      const [first, second] = [await registered(service, 'older', mosquitto.port), await newer(service)];
      const { inputOf } = driven(service);
      const client = await mosquitto.client();
      await client.subscribeAsync('$CONTROL/dynamic-security/v1/response');
      const answered = new Promise((resolve) => client.once('message', resolve));
      const commands = [
        { command: 'createRole', rolename: 'sensor', acls: [{ acltype: 'publishClientSend', topic, allow: true }] },
      ];
      await client.publishAsync('$CONTROL/dynamic-security/v1', JSON.stringify({ commands }));
      await answered;
      const { errors } = await service.graphql(CREATE, { input: inputOf([first, second]) });
      expect(errors?.[0]).toMatchObject({
        message: expect.stringMatching(refused.message),
        extensions: { code: refused.code },
      });
    },
  );

  test('rules that versions compare differently are listed, and explained as each node decides', async () => {
    const service = await startTestService();
    const nodes = [await newer(service), await older(service)];
    const { graph, create, nodesOf } = driven(service);
    const { brokerId: c } = await create(...nodes);
    const changes = [
      {
        createAccessRole: {
          roleName: 'sensor',
          acls: [acl('SUBSCRIBE_PATTERN', '#'), acl('SUBSCRIBE_PATTERN', 'a/#')],
        },
      },
      { createAccount: { username: 'meter', password: 'secret', roles: [{ roleName: 'sensor' }] } },
    ];
    expect((await graph(WRITE, { c, changes })).changeAccessControl.outcome).toBe('APPLIED');
    const [now, before] = await nodesOf(c);
    expect(now.sync).toEqual({ state: 'EQUAL', differences: [], differingRules: [] });
    const rule = { roleName: 'sensor', aclType: 'SUBSCRIBE_PATTERN', topic: '#' };
    expect(before.sync).toMatchObject({ state: 'EQUAL', differingRules: [{ feature: 'FILTER_MATCHING', ...rule }] });

    for (const topic of ['$share/g/a', '$x/a', 'a/b', 'b/#']) {
      const variables = { c, user: 'meter', action: 'SUBSCRIBE', topic };
      const { explainAccess } = await graph(EXPLAIN, variables);
      const seen = await Promise.all(nodes.map((node) => isAllowed(node, 'meter', 'SUBSCRIBE', topic)));
      expect(explainAccess.nodes).toEqual(seen.map((allowed, index) => ({ nodeId: index + 1, allowed, error: null })));
      const isSame = seen[0] === seen[1];
      expect(isSame).toBe(!topic.startsWith('$'));
      expect(explainAccess.remarks.some((text: string) => text.includes('Nodes decide differently'))).toBe(!isSame);
    }
  });

  test('a change names the connections that it closes on each node, whichever node is written first', async () => {
    const service = await startTestService();
    const nodes = [await older(service), await newer(service)];
    const { graph, create } = driven(service);
    const { brokerId: c } = await create(...nodes);
    const account = { username: 'meter', password: 'secret', roles: [{ roleName: 'sensor' }] };
    await graph(WRITE, { c, changes: [roleWith(), { createAccount: account }] });
    const { port } = nodes[1] as Started;
    const client = await startClient(`mqtt://127.0.0.1:${port}`, { ...account, clientId: 'of the newer node' });
    const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));

    const UPDATE = `mutation ($c: ID!, $change: AccessRoleChange!, $dryRun: Boolean) {
    updateAccessRole(input: { brokerId: $c, change: $change, dryRun: $dryRun }) {
      outcome blastRadius { usernames clients { clientId username } isComplete }
    }
  }`;
    // Mosquitto 2.0 closes no connection for new rules of a whole role, and is written first.
    const change = { roleName: 'sensor', acls: [acl('PUBLISH_CLIENT_SEND', 'a')] };
    const update = async (dryRun: boolean) => (await graph(UPDATE, { c, change, dryRun })).updateAccessRole;
    const blastRadius = {
      usernames: ['meter'],
      clients: [{ clientId: 'of the newer node', username: 'meter' }],
      isComplete: true,
    };
    // A Mosquitto reports the client in its log.
    await expect.poll(() => update(true)).toEqual({ outcome: 'PLANNED', blastRadius });
    expect(await update(false)).toEqual({ outcome: 'APPLIED', blastRadius });
    await closed;
  });

  test('a node whose version is not known is reported as such, and counts as too old', async () => {
    const service = await startTestService();
    // Without $SYS topics a Mosquitto 2.0 does not report its version.
    const { port } = await startOlder({ sysInterval: 0 });
    const nodes = [await newer(service), await registered(service, 'unknown', port)];
    const { refusal, create, nodesOf } = driven(service);
    const { brokerId: c } = await create(...nodes);
    expect(await nodesOf(c)).toEqual([
      { nodeId: 1, sync: { state: 'EQUAL', differences: [], differingRules: [] } },
      { nodeId: 2, sync: { state: 'EQUAL', differences: [], differingRules: null } },
    ]);
    const { body } = await service.rest('GET', `/api/projects/${service.projectId}/clusters/status`, service.root);
    expect(body[0].nodes[1].sync).toEqual({ state: 'equal', differences: 0, missing_passwords: [] });
    expect(await refusal(WRITE, { c, changes: [roleWith(OWN_TOPIC)] })).toMatchObject({
      ...NOT_KEPT,
      info: { nodeId: 2, reason: expect.stringContaining('is not known') },
    });
  });

  test('a node that is replaced by an older broker is DRIFTED with the rules that it lacks, and takes them from no other', async () => {
    const service = await startTestService();
    const [first, second] = [await newer(service), await newer(service, 'second')];
    const mosquitto = await startOlder();
    const { graph, refusal, create, nodesOf } = driven(service);
    const { id: clusterId, brokerId: c } = await create(first, second);
    const locked = acl('PUBLISH_CLIENT_SEND', 'plant/%u/locked', false);
    const changes = [
      {
        createAccessRole: {
          roleName: 'sensor',
          allowWildcardSubs: false,
          acls: [
            { ...locked, priority: 9 },
            acl('PUBLISH_CLIENT_SEND', 'plant/#'),
            acl('SUBSCRIBE_PATTERN', 'plant/#'),
          ],
        },
      },
      { createAccount: { username: 'wd3', password: 'secret', roles: [{ roleName: 'sensor' }] } },
    ];
    expect((await graph(WRITE, { c, changes })).changeAccessControl.outcome).toBe('APPLIED');

    await graph('mutation ($i: UpdateBrokerInput!) { updateBroker(input: $i) { broker { id } } }', {
      i: { brokerId: second.brokerId, url: mosquitto.url, password: ADMIN.password },
    });
    const REPAIR = 'mutation ($i: RepairClusterNodeInput!) { repairClusterNode(input: $i) { cluster { state } } }';
    await expect.poll(async () => (await nodesOf(c))[1].sync.state).toBe('DRIFTED');
    await graph(REPAIR, { i: { clusterId, nodeId: 2 } });
    await graph(WRITE, { c, changes: [{ setAccountPassword: { username: 'wd3', password: 'secret' } }] });
    const lost = {
      state: 'DRIFTED',
      differences: [{ kind: 'ROLE', name: 'sensor' }],
      differingRules: [
        { feature: 'WILDCARD_FLAG', roleName: 'sensor', aclType: null, topic: null },
        { feature: 'SUBSTITUTION', roleName: 'sensor', aclType: 'PUBLISH_CLIENT_SEND', topic: 'plant/%u/locked' },
      ],
    };
    expect(await nodesOf(c)).toEqual([
      { nodeId: 1, sync: { state: 'EQUAL', differences: [], differingRules: [] } },
      { nodeId: 2, sync: lost },
    ]);
    const { body } = await service.rest('GET', `/api/projects/${service.projectId}/clusters/status`, service.root);
    expect(body[0].nodes[1].sync).toEqual({
      state: 'drifted',
      differences: 1,
      missing_passwords: [],
      differing_rules: [
        { feature: 'wildcard_flag', rolename: 'sensor' },
        { feature: 'substitution', rolename: 'sensor', acltype: 'publishClientSend', topic: 'plant/%u/locked' },
      ],
    });

    const nodes = [first, { ...second, port: mosquitto.port }];
    for (const [action, topic] of [
      ['SUBSCRIBE', 'plant/#'],
      ['PUBLISH', 'plant/wd3/locked'],
      ['PUBLISH', 'plant/wd3/open'],
    ] as const) {
      const { explainAccess } = await graph(EXPLAIN, { c, user: 'wd3', action, topic });
      const seen = await Promise.all(nodes.map((node) => isAllowed(node, 'wd3', action, topic)));
      expect(explainAccess.nodes).toEqual(seen.map((allowed, index) => ({ nodeId: index + 1, allowed, error: null })));
      expect(seen).toEqual([topic === 'plant/wd3/open', true]);
    }

    // A change of another rule of the role neither removes the lost rule from the first node nor is refused.
    const other = { putAclRule: { roleName: 'sensor', acl: acl('PUBLISH_CLIENT_SEND', 'plant/#', false) } };
    expect((await graph(WRITE, { c, changes: [other] })).changeAccessControl.outcome).toBe('APPLIED');
    expect((await nodesOf(c))[1].sync).toEqual(lost);
    expect(await refusal(REPAIR, { i: { clusterId, nodeId: 2, adopt: true } })).toMatchObject({
      ...NOT_KEPT,
      info: { nodeId: 2 },
    });
    for (const node of nodes) expect(await isAllowed(node, 'wd3', 'PUBLISH', 'plant/wd3/open')).toBe(false);
  });
});
