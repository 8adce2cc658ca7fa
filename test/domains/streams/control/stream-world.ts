import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { sqliteLogs } from '../../../../src/data-plane/log/sqlite/sqlite-logs.ts';
import { STREAM_API } from '../../../../src/data-plane/streams/control/stream-control.ts';
import { StreamPlugin } from '../../../../src/data-plane/streams/control/stream-plugin.ts';
import { StreamEngineCore } from '../../../../src/data-plane/streams/engine/stream-engine-core.ts';
import { MqttStreamSession } from '../../../../src/data-plane/streams/hosting/mqtt-stream-session.ts';
import type { StreamEngine } from '../../../../src/data-plane/streams/model/stream-engine.ts';
import { compileQuery } from '../../../../src/data-plane/streams/query/compile-query.ts';
import { StreamCache } from '../../../../src/domains/streams/hosting/stream-cache.ts';
import { streamEvents } from '../../../../src/domains/streams/hosting/stream-hosting.ts';
import { newId } from '../../../../src/platform/ids.ts';
import { openSealer } from '../../../../src/platform/storage/encryption/sealed.ts';
import type { Storage } from '../../../../src/platform/storage/storage.ts';
import { BrokerControls } from '../../../../src/protocol/control/broker-controls.ts';
import type { ControlEvent } from '../../../../src/protocol/control/envelope.ts';
import { HostedCalls } from '../../../../src/protocol/hosting/hosted-calls.ts';
import { HostedPlugin } from '../../../../src/protocol/hosting/hosted-plugin.ts';
import { SolePlacement } from '../../../../src/protocol/hosting/placement/placement.ts';
import { openTestStorage, silentLog, temporaryFolder } from '../../../support/database.ts';
import { connectedLink } from '../../../support/link.ts';

/** A broker's row, that streams belong to. */
export async function addBroker({ db }: Storage): Promise<string> {
  const [projectId, brokerId] = [newId('project'), newId('broker')];
  await db.project.create({ data: { id: projectId, name: 'plant' } });
  await db.broker.create({ data: { id: brokerId, projectId, type: 'SELF_HOSTED', name: 'line' } });
  return brokerId;
}

interface StreamWorldOptions {
  readonly url: string;
  readonly storage?: Storage;
  readonly brokerId?: string;
  readonly folder?: string;
  readonly timeoutMs?: number;
}

/** The hosting of streams of a broker: stored definitions, and the real engine in this thread. */
export async function startStreams(options: StreamWorldOptions) {
  const { url, folder = temporaryFolder(), timeoutMs = 30_000 } = options;
  const storage = options.storage ?? (await openTestStorage());
  const brokerId = options.brokerId ?? (await addBroker(storage));
  const { db, changes, leases, engine } = storage;
  const streamCache = new StreamCache({ db, changes, log: silentLog });
  await streamCache.load();
  const sealer = openSealer({ dataDir: folder, secretKey: '5e'.repeat(32) });
  const calls = engine === 'postgresql' ? new HostedCalls({ db, changes, sealer, log: silentLog, timeoutMs }) : null;
  const faults: unknown[] = [];
  const engines = { running: 0, closed: 0 };
  const link = await connectedLink({ url });
  const controls = new BrokerControls(link, {
    timeoutMs,
    silenceMs: 100,
    onFault: (error) => faults.push(error),
    plugins: [
      {
        api: STREAM_API,
        create: async ({ emit, isHeard }) => {
          return new HostedPlugin({
            api: STREAM_API,
            brokerId,
            forwarding: streamEvents,
            start: (emitAll) => {
              const hosted = engineOf({ url, brokerId, folder, timeoutMs }, engines);
              const plugin = new StreamPlugin({
                definitions: streamCache.of(brokerId),
                engine: hosted,
                emit: emitAll,
                settleMs: timeoutMs * 0.7,
                onFault: (error) => faults.push(error),
              });
              return { plugin, close: () => hosted.close() };
            },
            placement: new SolePlacement(leases),
            calls,
            emit,
            isHeard,
            onFault: (error) => faults.push(error),
          });
        },
      },
    ],
  });
  const events: ControlEvent[] = [];
  controls.onEvent(STREAM_API, (event) => events.push(event));
  const close = async () => {
    await controls.close();
    await streamCache.close();
    calls?.close();
  };
  onTestFinished(close);
  return { storage, brokerId, folder, streamCache, controls, events, faults, engines, close };
}

/** Its parts are closed with it. */
function engineOf(
  { url, brokerId, folder, timeoutMs }: Required<Omit<StreamWorldOptions, 'storage'>>,
  engines: { running: number; closed: number },
): StreamEngine {
  const session = new MqttStreamSession({ id: brokerId, url, timeoutMs, clientId: `brokergraph-${brokerId}-streams` });
  const store = sqliteLogs({ folder: join(folder, brokerId), maxBytes: 1024 ** 3, onProblem: () => undefined });
  const engine = new StreamEngineCore({ session, store, compile: compileQuery });
  session.open();
  engines.running += 1;
  return {
    put: (id, definition) => engine.put(id, definition),
    settled: (id, withinMs) => engine.settled(id, withinMs),
    remove: (id) => engine.remove(id),
    removeOthers: (ids) => engine.removeOthers(ids),
    startReplay: (id, request, job) => engine.startReplay(id, request, job),
    suspendReplays: () => engine.suspendReplays(),
    stopReplay: (id) => engine.stopReplay(id),
    clear: (id, bounds) => engine.clear(id, bounds),
    report: (ids) => engine.report(ids),
    onChange: (listener) => engine.onChange(listener),
    close: async () => {
      engines.running -= 1;
      engines.closed += 1;
      await engine.close();
      await session.close({ discard: false });
      await store.close();
    },
  };
}
