import { setTimeout as delay } from 'node:timers/promises';
import type { ListenerWanted } from '../../domains/brokers/broker-engine.ts';
import { inOrderOfPorts } from '../../domains/brokers/port-candidates.ts';
import { ControlServer } from './control/control-server.ts';
import { publishStatistics } from './control/sys-statistics.ts';
import { BrokerCore } from './core/broker-core.ts';
import { ClientRegistry } from './core/client-registry.ts';
import type { Fault } from './core/faults.ts';
import { AccessStore } from './dynamic-security/access-store.ts';
import { ensureAdministrator } from './dynamic-security/administrator.ts';
import { DynamicSecurityAccess } from './dynamic-security/dynamic-security-access.ts';
import { PasswordCheck } from './dynamic-security/password-check.ts';
import { ACCESS_LIMITS, BROKER_LIMITS } from './limits.ts';
import { type Listener, startListener } from './listening/listener.ts';
import { ListenerCertificates } from './listening/listener-certificates.ts';
import { refusalLog } from './listening/refusal-log.ts';
import { RefusedConnects } from './listening/refused-connects.ts';
import { registerPlugins } from './plugins.ts';
import { BrokerStore } from './store/broker-store.ts';
import { CertificateStore } from './store/certificate-store.ts';
import type { QuarantinedRecord } from './store/quarantine.ts';
import { startStreams } from './streams/embedded-streams.ts';
import { startTopics } from './topics/embedded-topics.ts';
import type { RefusalMessage, WorkerOptions } from './worker-protocol.ts';

export interface AssembledBroker {
  readonly listeners: readonly ListenerWanted[];
  /** Call it when `areTopicPayloadsStored` has changed. */
  topicPayloadsChanged(): void;
  /** Refuses new connections and closes the open ones. Resolves when everything is on disk. */
  close(): Promise<void>;
}

interface BrokerHooks {
  readonly onProblem: (problem: string, error: unknown) => void;
  readonly onRefused: (message: RefusalMessage) => void;
  readonly onFault: (fault: Fault) => void;
  readonly onQuarantined: (record: QuarantinedRecord) => void;
  readonly areTopicPayloadsStored: () => boolean;
  /** Called when the journal cannot be written. The broker must shut down immediately. */
  readonly onBroken: (error: Error) => void;
}

const CLOSE_TIMEOUT_MS = 3_000;

/** Creates and starts one embedded broker. Runs in the worker thread. */
export async function startBroker(options: WorkerOptions, hooks: BrokerHooks): Promise<AssembledBroker> {
  const closers: (() => unknown)[] = [];
  const close = async () => {
    for (let closer = closers.pop(); closer; closer = closers.pop()) await closer();
  };
  try {
    const { folder, listeners: all } = options;
    const { onProblem, areTopicPayloadsStored: arePayloadsStored } = hooks;
    const store = new BrokerStore({
      folder,
      limits: BROKER_LIMITS,
      onBroken: (error) => hooks.onBroken(new Error(`the journal cannot be written: ${error.message}`)),
      onQuarantined: hooks.onQuarantined,
      suspicion: options.suspicion,
    });
    closers.push(() => store.close());
    const { journal } = store;
    const accessStore = new AccessStore(journal, ACCESS_LIMITS);
    const passwords = new PasswordCheck();
    const access = await DynamicSecurityAccess.create(accessStore.state, passwords);
    await ensureAdministrator(accessStore, options.administrator, passwords, access);
    const registry = new ClientRegistry(store.sessions);
    const control: ControlServer = new ControlServer({
      publish: (topic, payload) => core.publisher.publish(topic, payload),
      onBug: (error, command) => onProblem(`the command ${command.slice(0, 100)} failed`, error),
    });
    let closeTopics: (() => Promise<void>) | null = null;
    let closeStreams: (() => Promise<void>) | null = null;
    // Both are closed after the connections.
    closers.push(() => closeTopics?.());
    closers.push(() => closeStreams?.());
    closers.push(() => control.close());
    const refused = refusedConnects(accessStore, hooks.onRefused);
    closers.push(() => refused.close());
    const core = await BrokerCore.start({
      store,
      registry,
      access,
      limits: BROKER_LIMITS,
      serveControl: (client, topic, payload) =>
        control.serve(topic, payload, {
          maySend: (request) => core.maySend(client, request),
          receives: (response) => core.receives(client, response),
          send: (response, text) => core.sendTo(client, response, text),
        }),
      onProblem,
      onRefused: ({ address }, username, reason) => refused.add(address, username, reason),
      onFault: hooks.onFault,
    });
    closers.push(() => Promise.race([core.close(), delay(CLOSE_TIMEOUT_MS, undefined, { ref: false })]));

    const listeners: Listener[] = [];
    const withTls = all.filter(({ tls }) => tls).map(({ number }) => number);
    const certificates = new ListenerCertificates(new CertificateStore(journal, withTls), listeners);
    registerPlugins({ options, store, accessStore, registry, core, control, certificates, listeners });
    const topics = await startTopics({
      core,
      registry,
      store,
      control,
      ownClientIds: `brokergraph-${options.id}-`,
      maxBytes: options.topicTreeBytes,
      arePayloadsStored,
      onProblem,
    });
    closeTopics = topics.close;
    closeStreams = await startStreams({
      folder,
      maxBytes: options.streamStorageBytes,
      journal,
      core,
      control,
      onProblem,
    });
    await core.resume();

    const { version, sysIntervalMs: intervalMs } = options;
    closers.push(publishStatistics({ version, core, registry, store, intervalMs }));
    const refusals = refusalLog(onProblem);
    closers.push(() => refusals.close());
    closers.push(() => {
      for (const listener of listeners) listener.close();
    });
    const onError = (error: Error) => onProblem('a listener failed', error);
    const shared = { ...BROKER_LIMITS, all, accept: core.accept, onError, onRefused: refusals.refused };
    for (const one of inOrderOfPorts(all)) {
      const listener = await startListener(one, shared);
      listeners.push(listener);
      const problem = `TLS listener ${one.number} cannot use its certificates`;
      certificates.apply(listener, (error) => onProblem(problem, error));
    }
    listeners.sort((one, other) => one.info.number - other.info.number);
    const ports = new Map(listeners.map(({ info: { number, port } }) => [number, port]));
    return {
      listeners: all.map((one) => ({ ...one, port: ports.get(one.number) ?? one.port })),
      topicPayloadsChanged: topics.payloadsChanged,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const refusedConnects = ({ state }: AccessStore, send: (message: RefusalMessage) => void) =>
  new RefusedConnects({
    isAccount: (username) => state.policy.clients.has(username),
    onCounts: (counts) => send({ type: 'refused', counts }),
    onBurst: (burst, count) => send({ type: 'refusedBurst', burst, count, seconds: null }),
    onBurstEnd: (burst, count, seconds) => send({ type: 'refusedBurst', burst, count, seconds }),
  });
