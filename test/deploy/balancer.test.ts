import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Broadcast } from '../../src/gateway/live/broadcast.ts';
import type { Tick } from '../gateway/graphql/graph.ts';
import { startGraphqlServer } from '../gateway/graphql/server.ts';
import { openedStream, openStream, TRANSPORTS } from '../support/event-stream.ts';
import { freePort } from '../support/free-port.ts';
import { HAPROXY_MISSING, hasHaproxy, startHaproxy } from '../support/haproxy.ts';
import { LiveSubscriptions } from '../support/hosts/live-subscriptions.ts';
import { Numbers } from '../support/hosts/numbers.ts';
import { startMosquitto } from '../support/mosquitto.ts';
import { UNAVAILABLE, usePostgres } from '../support/postgres.ts';
import { Load } from '../support/request-load.ts';
import { bearer } from '../support/service.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { isLong } from '../support/suite.ts';

const postgres = usePostgres();
const canRun = hasHaproxy && postgres.available;

interface Member extends ServiceProcess {
  readonly port: number;
}

/** Processes on one database with the balancer of `deploy` in front of them. */
async function startBalanced(count = 2, env: Record<string, string> = {}) {
  const shared = {
    DATABASE_URL: await postgres.createDatabase(),
    SECRET_KEY: '5e'.repeat(32),
    TRUST_PROXY: 'on',
    // The balancer notices sooner, also on a busy machine.
    SHUTDOWN_DELAY_MS: '8000',
    RATE_REQUESTS: 'off',
    ...env,
  };
  const members: Member[] = [];
  for (let n = 0; n < count; n++) {
    const port = await freePort();
    const member = await startServiceProcess({ ...shared, PORT: String(port) });
    members.push(Object.assign(member, { port }));
  }
  const url = await startHaproxy(members.map(({ port }) => port));
  await Promise.all(members.map((member) => isUsed(member, url)));
  return { url, members: members as [Member, Member, ...Member[]], root: members[0]?.root as string };
}

/** Number of REST requests that a process has served. */
const servedBy = async (member: Member) => {
  const metrics = await (await fetch(`${member.url}/metrics`, { headers: bearer(member.root) })).text();
  const counts = metrics.matchAll(/^brokergraph_http_request_duration_seconds_count\{[^}]*"rest"[^}]*\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
};

/** Resolves when the balancer sends requests to a process. */
async function isUsed(member: Member, url: string): Promise<void> {
  const before = await servedBy(member);
  const served = async () => {
    await fetch(`${url}/api/projects`, { headers: bearer(member.root) });
    return servedBy(member);
  };
  // The balancer looks every second, and the metrics are long.
  await expect.poll(served, { interval: 250 }).toBeGreaterThan(before);
}

/** Brokers with streams and traffic. Returns subscriptions to the streams of each. */
async function streamsOf({ addBroker, graphql }: Member) {
  const ids: string[] = [];
  for (let n = 0; n < 6; n++) {
    const { url } = await startMosquitto();
    const brokerId = await addBroker(url);
    await graphql(CREATE, { input: { brokerId, name: 'numbers', sourceTopic: 'in/+', targetTopic: 'out' } });
    await Numbers.start({ from: { url, topic: 'in/a' }, to: { url, topic: 'out' } });
    ids.push(brokerId);
  }
  return Array.from({ length: 30 }, (_, nth) => ({ query: STREAMS, variables: { id: ids[nth % ids.length] } }));
}

const CREATE = 'mutation ($input: CreateStreamInput!) { createStream(input: $input) { stream { name } } }';
const STREAMS = `subscription ($id: ID!, $after: SafeInt) {
  live: streams(brokerId: $id, after: $after) { kind sequence partsLeft streams { counters { received } } }
}`;
const STATUS = 'subscription ($p: ID!) { brokerStatus(projectId: $p) { kind brokers { broker { name } } } }';

// Starting processes and replacing them takes minutes on a busy machine.
const SLOW = { timeout: 300_000 };

describe.skipIf(!canRun)(canRun ? 'behind HAProxy' : `${HAPROXY_MISSING}; ${UNAVAILABLE}`, SLOW, () => {
  test.runIf(isLong).each(TRANSPORTS)('%s: the snapshot and changes by another process arrive', async (transport) => {
    const { url, members, root } = await startBalanced();
    const [{ projectId }] = members;
    const stream = await openedStream(transport, { url }, root, { query: STATUS, variables: { p: projectId } });
    for (const [index, member] of members.entries()) {
      await fetch(`${member.url}/api/projects/${projectId}/brokers`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...bearer(root) },
        body: JSON.stringify({ name: `b${index}`, url: 'mqtt://127.0.0.1:1' }),
      });
      await stream.until(({ brokerStatus }) => brokerStatus.brokers[0]?.broker.name === `b${index}`);
    }
  });

  test.runIf(isLong).each(TRANSPORTS)(
    '%s: heartbeats keep a stream open beyond the timeouts of the balancer',
    async (transport) => {
      const ticks = new Broadcast<Tick, Tick>(() => ({ n: 0 }));
      const { port } = await startGraphqlServer({ ticks, keepAliveMs: 250 });
      const subscription = { query: 'subscription { ticks { n } }' };
      // The first subscription loads code, which takes seconds on a busy machine.
      const direct = openStream(transport, `http://127.0.0.1:${port}/graphql`, null, subscription);
      await direct.until(({ ticks }) => ticks.n === 0);
      // This server has no /readyz: a connection is the check.
      const short = (settings: string) => settings.replaceAll(' 60s', ' 5s').replace('option httpchk GET /readyz', '');
      const url = await startHaproxy([port], short);
      const stream = openStream(transport, `${url}/graphql`, null, subscription);
      await stream.until(({ ticks }) => ticks.n === 0);
      const first = await Promise.race([stream.heartbeats(24).then(() => 'heartbeats'), stream.ended]);
      expect(first).toBe('heartbeats');
    },
  );

  test('the service sees the address of the caller, not the one that the caller claims', async () => {
    const { url } = await startBalanced(1);
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': '192.0.2.7' },
      body: JSON.stringify({ query: LOGIN }),
    });
    const { data } = (await response.json()) as { readonly data: { readonly login: { readonly token: string } } };
    const sessions = await fetch(
      `${url}/graphql?${new URLSearchParams({ query: '{ viewer { sessions { isCurrent address } } }' })}`,
      {
        headers: bearer(data.login.token),
      },
    );
    const body = (await sessions.json()) as {
      readonly data: {
        readonly viewer: { readonly sessions: readonly { readonly isCurrent: boolean; readonly address: string }[] };
      };
    };
    expect(body.data.viewer.sessions.find(({ isCurrent }) => isCurrent)?.address).toBe('127.0.0.1');
  });

  test.runIf(isLong)(
    'a rolling update fails no request, and subscriptions to streams continue in other processes',
    async () => {
      const { url, members, root } = await startBalanced(3, { BROKER_TIMEOUT_MS: '20000' });
      const live = await streamsOf(members[0]);
      const load = new Load(url, root);
      onTestFinished(() => load.stop());
      const subscriptions = new LiveSubscriptions(url, root, live, 6);
      const allHeard = async () => {
        const from = performance.now();
        await expect.poll(() => subscriptions.silentSince(from), { timeout: 120_000 }).toBe(0);
      };
      await load.more(40);
      await allHeard();
      for (const member of members) {
        expect(await member.stop()).toBe(0);
        await load.more(40);
        await allHeard();
        await member.start();
        await isUsed(member, url);
      }
      await load.stop();
      expect(load.failures).toEqual([]);
      expect(load.created.length).toBeGreaterThan(40);
      // None has ended before its socket, and all have continued at another process, which has other sequences.
      expect(subscriptions.endings.size).toBe(0);
      const { resumed, snapshots, longestMs } = subscriptions.restarts;
      expect([resumed, snapshots > 0]).toEqual([0, true]);
      console.info(`    ${snapshots} subscriptions continued within ${(longestMs / 1_000).toFixed(1)} s`);
    },
  );

  test('requests in progress are completed by a process that stops, and new ones go to another process', async () => {
    const { url, members, root } = await startBalanced();
    const [stopping, other] = members;
    // The balancer sends a request to the process with the fewest connections: each process has one of these two.
    const requests = await Promise.all([beginRequest(url, root), beginRequest(url, root)]);
    const status = { query: STATUS, variables: { p: stopping.projectId } };
    const sockets = [
      await openedStream('WebSocket', { url }, root, status),
      await openedStream('WebSocket', { url }, root, status),
    ];
    const stopped = stopping.stop();
    await expect.poll(async () => (await fetch(`${stopping.url}/readyz`)).status).toBe(503);
    expect(await Promise.all(requests.map((end) => end()))).toEqual([200, 200]);
    expect(await stopped).toBe(0);
    // Clients of GraphQL over WebSocket connect again after this code.
    expect((await Promise.race(sockets.map(({ ended }) => ended))).close).toBe(1001);
    const before = await servedBy(other);
    expect((await fetch(`${url}/api/projects`, { headers: bearer(root) })).status).toBe(200);
    expect(await servedBy(other)).toBe(before + 1);
  });

  test.runIf(isLong)(
    'after a process is killed, reads are repeated by another process, and writes happen at most once',
    async () => {
      const { url, members, root } = await startBalanced();
      const [killed, other] = members;
      const load = new Load(url, root);
      onTestFinished(() => load.stop());
      await load.more(40);
      await killed.kill();
      await load.more(80);
      await load.stop();
      expect(load.failures.filter(({ method }) => method === 'GET')).toEqual([]);
      // At most the writes that the killed process had received: each client sends one request at a time.
      expect(load.failures.length).toBeLessThanOrEqual(4);
      // HAProxy closes a connection that had earlier requests, like a server whose keep-alive has ended.
      for (const { reason } of load.failures) expect(reason).toMatch(/^Error: 502|fetch failed/);
      const { projects } = await other.graphql('{ projects(first: 1000) { nodes { name } } }');
      const names = projects.nodes
        .map(({ name }: { readonly name: string }) => name)
        .filter((name: string) => name !== 'Test');
      expect(new Set(names).size).toBe(names.length);
      expect(names).toEqual(expect.arrayContaining(load.created));
    },
  );
});

const LOGIN = 'mutation { login(input: { email: "root@example.com", password: "correct horse battery" }) { token } }';

/** Sends the head of a request, and half of its body when the service asks for it. Returns what sends the rest. */
async function beginRequest(url: string, token: string): Promise<() => Promise<number | undefined>> {
  const body = JSON.stringify({ query: '{ viewer { __typename } }' });
  const req = request(`${url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-length': body.length,
      expect: '100-continue',
      ...bearer(token),
    },
  });
  req.flushHeaders();
  await once(req, 'continue');
  req.write(body.slice(0, 10));
  return async () => {
    req.end(body.slice(10));
    const [res] = await once(req, 'response');
    await text(res);
    return res.statusCode;
  };
}
