import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { BridgeThread } from '../../../../src/data-plane/bridges/hosting/bridge-thread.ts';
import type { BridgeKind } from '../../../../src/data-plane/bridges/model/bridge-kind.ts';
import type { BridgeConnectionStatus } from '../../../../src/data-plane/bridges/model/bridge-status.ts';
import { BridgeConfigCache } from '../../../../src/domains/bridges/hosting/bridge-config-cache.ts';
import { bridgeHosting } from '../../../../src/domains/bridges/hosting/bridge-hosting.ts';
import { BrokerCache } from '../../../../src/domains/brokers/broker-cache.ts';
import { BrokerRuntimes } from '../../../../src/domains/brokers/broker-runtimes.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { openSealer } from '../../../../src/platform/storage/encryption/sealed.ts';
import type { Storage } from '../../../../src/platform/storage/storage.ts';
import { HostedCalls } from '../../../../src/protocol/hosting/hosted-calls.ts';
import { SolePlacement } from '../../../../src/protocol/hosting/placement/placement.ts';
import { openTestStorage, silentLog, temporaryFolder } from '../../../support/database.ts';
import { programUrl } from '../../../support/programs.ts';

/** A kind of bridge that copies within one broker: `copy-worker.mjs` runs it. */
export const copyKind: BridgeKind = {
  id: 'copy-bridge',
  api: 'cedalo/copy-bridge',
  name: 'Copy',
  schema: {
    type: 'object',
    properties: {
      connections: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            name: { type: 'string' },
            active: { type: 'boolean' },
            from: { type: 'string' },
            to: { type: 'string' },
            password: { type: 'string', writeOnly: true },
          },
          required: ['name', 'from', 'to'],
        },
      },
    },
    required: ['connections'],
  },
  empty: { connections: [] },
  check: () => [],
};

export const SECRET = 'not to be read by anybody';
export const copy = (more: object = {}) => ({
  connections: [{ name: 'one', from: 'from', to: 'to', password: SECRET, ...more }],
});

/** A broker's row. */
export async function addBroker({ db }: Storage, url: string): Promise<string> {
  const [projectId, id] = [newId('project'), newId('broker')];
  await db.project.create({ data: { id: projectId, name: 'plant' } });
  await db.broker.create({ data: { id, projectId, type: 'SELF_HOSTED', name: 'line', url } });
  return id;
}

interface BridgeWorldOptions {
  readonly storage?: Storage;
  readonly dataDir?: string;
  readonly timeoutMs?: number;
  readonly secretKey?: string;
  /** Where queues are stored. Default: files. */
  readonly databaseUrl?: string;
}

const SECRET_KEY = '5e'.repeat(32);

/**
 * The parts of a process that host bridges. They are queried by control APIs only.
 */
export async function startBridges({ timeoutMs = 30_000, ...options }: BridgeWorldOptions = {}) {
  const dataDir = options.dataDir ?? temporaryFolder();
  const storage = options.storage ?? (await openTestStorage());
  const { db, changes, engine } = storage;
  const sealer = openSealer({ dataDir, secretKey: options.secretKey ?? SECRET_KEY });
  const brokerCache = new BrokerCache({ db, changes, log: silentLog });
  await brokerCache.load();
  const lines: string[] = [];
  const line = (fields: object, text: string) => {
    lines.push(`${text} ${JSON.stringify(fields)}`);
  };
  const thread = new BridgeThread({
    workerUrl: programUrl('test/domains/bridges/hosting/copy-worker.mjs'),
    log: { info: line, warn: line, error: line },
  });
  const log = silentLog;
  const calls = engine === 'postgresql' ? new HostedCalls({ db, changes, sealer, log, timeoutMs }) : null;
  const runtimes = new BrokerRuntimes({
    brokers: brokerCache,
    sealer,
    rules: { filesDir: undefined, allowedHosts: [] },
    timeoutMs,
    maxLinks: 10,
    log,
  });
  const hosting = bridgeHosting({
    storage,
    placement: new SolePlacement(storage.leases),
    configs: new BridgeConfigCache({ db, changes, sealer, log }),
    kinds: [copyKind],
    brokers: brokerCache,
    thread,
    rules: { allowedHosts: [] },
    isOwnBroker: () => false,
    folder: join(dataDir, 'bridges'),
    databaseUrl: options.databaseUrl,
    runtimes,
    calls,
    log,
  });
  await hosting.start();
  await runtimes.start();
  let isClosed = false;
  const close = async () => {
    if (isClosed) return;
    isClosed = true;
    await runtimes.close();
    await hosting.close();
    await thread.close();
    calls?.close();
    await brokerCache.close();
  };
  onTestFinished(close);
  const ask = async (id: string, command: string, fields = {}): Promise<unknown> => {
    const broker = brokerCache.get(id);
    if (broker === null) throw new Error(`no broker ${id}`);
    return runtimes.ask(broker, ({ controls }) => controls.call(copyKind.api, command, fields));
  };
  const configure = (id: string, configChange: object) => ask(id, 'updateConfig', { configChange });
  const status = async (id: string) => (await ask(id, 'getStatus')) as BridgeConnectionStatus[];
  /** Later status events of the only connection. */
  const statuses = (id: string): BridgeConnectionStatus[] => {
    const told: BridgeConnectionStatus[] = [];
    const broker = brokerCache.get(id);
    if (broker === null) throw new Error(`no broker ${id}`);
    runtimes.get(broker).controls.onEvent(copyKind.api, ({ status: all }) => {
      told.push(...(all as BridgeConnectionStatus[]));
    });
    return told;
  };
  return { storage, dataDir, brokerCache, runtimes, lines, ask, configure, status, statuses, close };
}
