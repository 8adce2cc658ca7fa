import type { ListenerWanted } from '../../domains/brokers/broker-engine.ts';
import { inOrderOfPorts } from '../../domains/brokers/port-candidates.ts';
import { BrokerPlugin } from './control/broker-plugin.ts';
import { CertificatePlugin } from './control/certificate-plugin.ts';
import { ClientControlPlugin } from './control/client-control-plugin.ts';
import { ClientReport } from './control/client-report.ts';
import { ControlServer } from './control/control-server.ts';
import { InspectPlugin } from './control/inspect-plugin.ts';
import { LicensePlugin } from './control/license-plugin.ts';
import { SysStatistics } from './control/sys-statistics.ts';
import { BrokerCore } from './core/broker-core.ts';
import { ClientRegistry } from './core/client-registry.ts';
import type { Fault } from './core/faults.ts';
import { DEFAULT_ACCESS_LIMITS } from './dynamic-security/access-limits.ts';
import { AccessStore } from './dynamic-security/access-store.ts';
import { ensureAdministrator } from './dynamic-security/administrator.ts';
import { DynamicSecurityAccess } from './dynamic-security/dynamic-security-access.ts';
import { DynamicSecurityPlugin } from './dynamic-security/dynamic-security-plugin.ts';
import { PasswordCheck } from './dynamic-security/password-check.ts';
import { PasswordCopyPlugin } from './dynamic-security/password-copy-plugin.ts';
import { DEFAULT_BROKER_LIMITS, DEFAULT_STORE_LIMITS } from './limits.ts';
import { type Listener, startListener } from './listening/listener.ts';
import { ListenerCertificates } from './listening/listener-certificates.ts';
import { RefusalLog } from './listening/refusal-log.ts';
import { RefusedConnects } from './listening/refused-connects.ts';
import { BrokerStore } from './store/broker-store.ts';
import { CertificateStore } from './store/certificate-store.ts';
import type { QuarantinedRecord } from './store/quarantine.ts';
import { type EmbeddedStreams, startStreams } from './streams/embedded-streams.ts';
import { type EmbeddedTopics, startTopics } from './topics/embedded-topics.ts';
import type { RefusalMessage, WorkerOptions } from './worker-protocol.ts';

export interface AssembledBroker {
  /** With the assigned ports. */
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
  /** Whether payloads of recorded topics are stored. */
  readonly areTopicPayloadsStored: () => boolean;
  /** Called when the journal cannot be written. The broker must shut down immediately. */
  readonly onBroken: (error: Error) => void;
}

/** Maximum time to close the connections. */
const CLOSE_TIMEOUT_MS = 3_000;

/** Creates and starts one embedded broker. Runs in the worker thread. */
export async function startBroker(options: WorkerOptions, hooks: BrokerHooks): Promise<AssembledBroker> {
  const closers: (() => unknown)[] = [];
  const close = async () => {
    for (let closer = closers.pop(); closer; closer = closers.pop()) await closer();
  };
  try {
    const { folder } = options;
    const { onProblem, areTopicPayloadsStored: arePayloadsStored } = hooks;
    const store = new BrokerStore({
      folder,
      limits: DEFAULT_STORE_LIMITS,
      onBroken: (error) => hooks.onBroken(new Error(`the journal cannot be written: ${error.message}`)),
      onQuarantined: hooks.onQuarantined,
      suspicion: options.suspicion,
    });
    closers.push(() => store.close());
    const accessStore = new AccessStore(store.journal, DEFAULT_ACCESS_LIMITS);
    const passwords = new PasswordCheck();
    const access = await DynamicSecurityAccess.create(accessStore.state, passwords);
    await ensureAdministrator(accessStore, options.administrator, passwords, access);
    const limits = { ...DEFAULT_BROKER_LIMITS, ...DEFAULT_STORE_LIMITS };
    const registry = new ClientRegistry(store.sessions);
    const control: ControlServer = new ControlServer({
      publish: (topic, payload) => core.publisher.publish(topic, payload),
      onBug: (error, command) => hooks.onProblem(`the command ${command.slice(0, 100)} failed`, error),
    });
    let topics: EmbeddedTopics | null = null;
    closers.push(() => topics?.close());
    let streams: EmbeddedStreams | null = null;
    closers.push(() => streams?.close());
    closers.push(() => control.close());
    // Prefix of the client ids with which the service connects to the broker.
    const ownClientIds = `brokergraph-${options.id}-`;
    const { onRefused } = hooks;
    const refused = new RefusedConnects({
      isAccount: (username) => accessStore.state.policy.clients.has(username),
      onCounts: (counts) => onRefused({ type: 'refused', counts }),
      onBurst: (burst, count) => onRefused({ type: 'refusedBurst', burst, count, seconds: null }),
      onBurstEnd: (burst, count, seconds) => onRefused({ type: 'refusedBurst', burst, count, seconds }),
    });
    closers.push(() => refused.close());
    const core = await BrokerCore.start({
      store,
      registry,
      access,
      limits,
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
    closers.push(() => within(CLOSE_TIMEOUT_MS, core.close()));

    const listeners: Listener[] = [];
    const since = Date.now();
    const apis = () => control.plugins.map(({ api }) => api);
    control.register(
      new InspectPlugin({
        registry,
        report: new ClientReport({ registry, incoming: store.incoming, limits }),
        since,
        emit: (event) => control.emit('cedalo/inspect', event),
      }),
    );
    control.register(new ClientControlPlugin(core.clients));
    control.register(new LicensePlugin(since, apis));
    control.register(
      new DynamicSecurityPlugin({
        store: accessStore,
        kick: core.kick,
        addresses: (username) =>
          Array.from(registry.claimedBy(username))
            .filter(({ identity }) => identity !== null)
            .map(({ address }) => address),
      }),
    );
    control.register(new BrokerPlugin(options.version, apis, () => listeners.map(({ info }) => info)));
    const { journal } = store;
    const { password } = options.administrator;
    control.register(new PasswordCopyPlugin(accessStore, password, core.kick));
    const withTls = options.listeners.filter(({ tls }) => tls).map(({ number }) => number);
    const certificates = new ListenerCertificates(new CertificateStore(journal, withTls), listeners);
    control.register(new CertificatePlugin(certificates));

    const { topicTreeBytes: maxBytes } = options;
    const own = { ownClientIds, maxBytes, arePayloadsStored };
    const recorded = await startTopics({ core, registry, store, control, ...own, onProblem });
    topics = recorded;
    const maxStreamBytes = options.streamStorageBytes;
    streams = await startStreams({ folder, maxBytes: maxStreamBytes, journal, core, control, onProblem });
    await core.resume();

    const { version, sysIntervalMs: intervalMs } = options;
    const statistics = new SysStatistics({ version, core, registry, store, intervalMs });
    closers.push(() => statistics.close());

    const onError = (error: Error) => onProblem('a listener failed', error);
    const refusals = new RefusalLog(onProblem);
    closers.push(() => refusals.close());
    const all = options.listeners;
    const shared = { ...DEFAULT_BROKER_LIMITS, all, accept: core.accept, onError, onRefused: refusals.refused };
    closers.push(() => {
      for (const listener of listeners) listener.close();
    });
    for (const one of inOrderOfPorts(all)) {
      const listener = await startListener(one, shared);
      listeners.push(listener);
      certificates.apply(listener, (error) =>
        onProblem(`TLS listener ${one.number} cannot use its certificates`, error),
      );
    }
    listeners.sort((one, other) => one.info.number - other.info.number);
    const ports = new Map(listeners.map(({ info: { number, port } }) => [number, port]));
    return {
      listeners: all.map((one) => ({ ...one, port: ports.get(one.number) ?? one.port })),
      topicPayloadsChanged: () => recorded.payloadsChanged(),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function within(timeoutMs: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
