/** Data of the GraphQL and REST benchmarks, in memory: five projects with ten brokers each, and one with 50 brokers. */

import { Counter } from 'prom-client';
import { Metrics } from '../src/app/metrics.ts';
import type { BrokerRecord } from '../src/domains/brokers/broker-cache.ts';
import type { ProjectRecord } from '../src/domains/projects/project-cache.ts';
import type { RequestContext } from '../src/gateway/context.ts';
import type { RequestFacts } from '../src/gateway/graphql/endpoint.ts';
import { Traffic } from '../src/gateway/http/traffic.ts';
import { RequestSignals } from '../src/gateway/request-signals.ts';
import { SignInCounts } from '../src/platform/auth/sign-in-counts.ts';
import type { Viewer } from '../src/platform/auth/viewer.ts';
import { BUILD } from '../src/platform/build.ts';
import { notFound } from '../src/platform/errors.ts';

/** The project with COUNT brokers. */
export const PROJECT = 'prj_bench';
const COUNT = 50;
const SMALL_PROJECTS = 5;
const SMALL_COUNT = 10;

const NOW = '2026-01-31T12:00:00.000Z';

const project = (id: string): ProjectRecord => ({
  id,
  name: `Plant ${id}`,
  description: 'A plant with halls',
  strictRoles: false,
  topicPayloads: true,
  clusterPasswords: false,
  problemThresholds: null,
  ownerUserId: 'usr_bench',
  ownerOrganizationId: null,
  ownerName: 'bench@example.com',
  createdAt: new Date(NOW),
  updatedAt: new Date(NOW),
});

const broker = (projectId: string, i: number): BrokerRecord => ({
  id: `brk_${projectId}_${String(i).padStart(14, '0')}`,
  projectId,
  type: 'SELF_HOSTED',
  name: `broker ${i}`,
  description: `The broker of hall ${i}`,
  url: `mqtts://broker-${i}.example.com:8883`,
  ha: false,
  clusterMode: null,
  metricsEnabled: true,
  trustedUrl: false,
  username: 'gateway',
  sealedPassword: null,
  caCert: null,
  caCertFile: null,
  clientCert: null,
  clientCertFile: null,
  sealedClientKey: null,
  clientKeyFile: null,
  verifyCaCert: true,
  clientTakeover: false,
  boundSessions: false,
  createdAt: NOW,
  updatedAt: NOW,
  canceledAt: null,
  issuedTo: null,
  productId: null,
  paymentSubscriptionItemId: null,
  periodStart: null,
  periodEnd: null,
  options: null,
  subdomain: null,
  zoneName: null,
  folderId: null,
  host: null,
  problem: null,
  awaySince: null,
  deployedAt: null,
  shutdownAt: null,
  location: null,
  state: null,
  targetState: null,
  engine: null,
  listeners: [],
  maxClients: null,
  maxConnections: null,
});

const brokersOf = (projectId: string, count: number) => Array.from({ length: count }, (_, i) => broker(projectId, i));

const projects = [PROJECT, ...Array.from({ length: SMALL_PROJECTS }, (_, i) => `${PROJECT}_${i}`)].map(project);
const brokersByProject = new Map(projects.map(({ id }) => [id, brokersOf(id, id === PROJECT ? COUNT : SMALL_COUNT)]));

/** The brokers of the REST list. */
export const brokers: readonly BrokerRecord[] = brokersByProject.get(PROJECT) ?? [];

const brokersById = new Map([...brokersByProject.values()].flat().map((one) => [one.id, one]));
const byId = new Map(projects.map((project) => [project.id, project]));
const smallProjects = projects.slice(1);

const viewer: Viewer = {
  kind: 'USER',
  id: 'usr_bench',
  name: 'bench',
  credentialId: 'ses_bench',
  expiresAt: Number.POSITIVE_INFINITY,
  isRootAdmin: false,
  projectRoles: new Map(projects.map(({ id }) => [id, 'VIEWER'])),
  brokers: null,
};

/** The parts of the services that the benchmarks use, without a database. */
const services = {
  projects: {
    visible(id: string) {
      const found = byId.get(id);
      if (!found) throw notFound('project', id);
      return found;
    },
    visibleTo: () => smallProjects,
    roleOf: () => 'VIEWER' as const,
  },
  brokers: {
    visible(id: string) {
      const found = brokersById.get(id);
      if (!found) throw notFound('broker', id);
      return found;
    },
    visibleIn: (projectId: string) => brokersByProject.get(projectId) ?? [],
  },
  runtimes: {
    isConnected: () => true,
    status: () => ({ state: 'CONNECTED' as const, since: NOW }),
  },
};

/** Creates the context of a request. All contenders use this function. */
export const contextFor = ({ headers, address }: Pick<RequestFacts, 'headers' | 'address'>): RequestContext =>
  ({ viewer, requestId: headers['x-request-id'] ?? '', address, services }) as unknown as RequestContext;

/** Further options of the product's HTTP server. */
export const surroundings = () => ({
  metrics: new Metrics({
    build: BUILD,
    parts: {
      services: {
        auth: { signInCounts: new SignInCounts() },
        cloudBrokers: { faults: new Counter({ name: 'faults', help: 'Faults.', registers: [] }) },
      },
      caches: {},
      storage: { ping: async () => undefined, pool: null, speed: null },
      mqttRefusals: { register: () => undefined },
      unreadLogLines: { register: () => undefined },
      readiness: { register: () => undefined },
    } as unknown as ConstructorParameters<typeof Metrics>[0]['parts'],
    http: { traffic: new Traffic(), connections: { size: 0, stalledCount: 0, refusedCount: 0 } },
    webSockets: () => 0,
    signals: new RequestSignals({ log: { warn: () => undefined, error: () => undefined }, slowMs: null }),
  }),
  whyNotReady: () => Promise.resolve(null),
});

/** Replaces the interface that is not measured. */
export const unused = {
  handle(): void {
    throw new Error('not part of this benchmark');
  },
  fetch(): never {
    throw new Error('not part of this benchmark');
  },
  upgrade(): void {
    throw new Error('not part of this benchmark');
  },
};
