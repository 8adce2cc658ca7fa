import { readFileSync } from 'node:fs';
import { openStorage } from '../../../src/platform/storage/storage.ts';
import { silentLog } from '../../support/database.ts';
import type { TestService } from '../../support/service.ts';
import type { Everything } from './everything.ts';

interface DocumentedOperation {
  readonly method: string;
  readonly path: string;
}

const operations: readonly DocumentedOperation[] = JSON.parse(
  readFileSync(new URL('../../contract/operations.json', import.meta.url), 'utf8'),
);

/** Members whose values are left out, by the end of the path. Their types are recorded. */
const CHANGING: Readonly<Record<string, readonly string[]>> = {
  // Brokers that the service runs are deployed at each start.
  '/brokers': ['deployed_at', 'updated_at'],
  '/brokers/{brokerId}': ['deployed_at', 'updated_at'],
  '/settings': ['deployed_at', 'updated_at'],
  '/license': ['validSince'],
  // The values of `$SYS`, such as the uptime.
  '/info': ['deployed_at', 'updated_at', 'validSince', 'sysTopics', 'sysTopicsHistory'],
  // Links and counts of this process.
  '/status': ['since', 'error', 'received'],
  // Written by each use.
  '/tokens': ['last_used_date'],
  // The connected clients of an account, of which the service itself is one.
  '/clients': ['connections'],
  // Recorded in memory.
  '/topictree': [''],
};

const GRAPH = `query ($c: ID!, $p: ID!, $b: ID!) {
  viewer { __typename }
  organizations(first: 10) { nodes { id name createdAt members(first: 5) { nodes { role user { id } } } } }
  projects(first: 10) { nodes { id name createdAt updatedAt owner { __typename } tokenCount } }
  project(id: $p) {
    signInRules(first: 10) { nodes { id provider claimPath pattern role createdAt } }
    members(first: 10) { nodes { role createdAt user { id email } } }
    cluster(id: $c) { id name mode keeper createdAt nodes { nodeId brokerId name address port } }
    brokers(first: 20) { nodes {
      id name isConnected type
      streams { nodes { id name sourceTopic key persist isActive query state storage { state messages newest oldest } } }
      bridges { key isActive config }
      jobs { id kind state done total attempt startedAt updatedAt endedAt }
    } }
  }
  broker(id: $b) { retainedMessages(filter: "in/#") { nodes { topic payload qos } } listeners { port hasTls certificates { filename } } }
}`;

/** The responses to all documented reads, of each broker, and to a query of the rest of the graph. */
export async function record(service: TestService, everything: Everything): Promise<Record<string, unknown>> {
  const { projectId, userId, brokerIds, clusterId, root, token } = everything;
  const recorded: Record<string, unknown> = {};
  for (const { path } of operations.filter(({ method }) => method === 'GET')) {
    for (const brokerId of brokersOf(path, everything)) {
      const ids: Record<string, string> = { projectId, userId, clusterId, brokerId, bridgeId: 'mqtt-bridge' };
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'none') + queryOf(path);
      const { status, body } = await service.rest('GET', filled, root);
      recorded[`GET ${filled}`] = { status, body: steady(body, changingOf(path)) };
    }
  }
  const variables = { c: clusterId, p: projectId, b: brokerIds[0] };
  recorded.graph = await service.graphql(GRAPH, variables, root);
  const { status, body } = await service.rest('GET', `/api/projects/${projectId}/brokers`, token);
  recorded['brokers of the token'] = { status, body };
  return recorded;
}

/** The audit in the SQLite database of a data folder that no service uses. */
export async function auditOf(dataDir: string) {
  const { db, close } = await openStorage({ dataDir, databaseUrl: undefined, log: silentLog });
  const entries = await db.auditEntry.findMany({ orderBy: { sequence: 'asc' } });
  await close();
  return entries;
}

function brokersOf(path: string, { brokerIds, clusterBrokerId }: Everything): readonly string[] {
  if (!path.includes('{brokerId}')) return [''];
  // What the service knows of the clients of a Mosquitto is in memory.
  return path.includes('/client-inspect') ? [brokerIds[0]] : [...brokerIds, clusterBrokerId];
}

function queryOf(path: string): string {
  if (path.endsWith('/client-inspect')) return '?filterValue=meter';
  if (path.endsWith('/detail')) return `?clientid=${encodeURIComponent('meter')}`;
  return '';
}

const changingOf = (path: string): readonly string[] =>
  Object.entries(CHANGING).find(([end]) => path.endsWith(end))?.[1] ?? [];

function steady(value: unknown, changing: readonly string[]): unknown {
  if (changing.includes('')) return typeof value;
  if (Array.isArray(value)) return value.map((one) => steady(one, changing));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, changing.includes(name) ? typeof one : steady(one, changing)]),
  );
}
