import { setTimeout as delay } from 'node:timers/promises';
import { Closers } from '../../platform/closers.ts';
import { inOrderOfPorts } from '../../platform/network/free-ports.ts';
import { INSPECT_API } from '../../protocol/apis/clients/inspect-control.ts';
import { REFUSALS_API } from '../../protocol/apis/refusals/refusal-control.ts';
import type { ListenerWanted } from '../../protocol/hosting/broker-engine.ts';
import { ClientEvents } from './clients/client-events.ts';
import { ClientRegistry } from './clients/client-registry.ts';
import type { Connection, ListenerInfo } from './clients/connection.ts';
import { Refusals } from './connecting/refusals.ts';
import { brokerPlugin, licensePlugin } from './control/broker-plugin.ts';
import { certificatePlugin } from './control/certificate-plugin.ts';
import { clientControlPlugin } from './control/client-control-plugin.ts';
import { ControlServer } from './control/control-server.ts';
import { InspectPlugin } from './control/inspect-plugin.ts';
import { publishStatistics } from './control/sys-statistics.ts';
import { BrokerCore } from './core/broker-core.ts';
import type { Fault } from './core/faults.ts';
import { AccessStore } from './dynamic-security/access-store.ts';
import { ensureAdministrator } from './dynamic-security/administrator.ts';
import { DynamicSecurityAccess } from './dynamic-security/dynamic-security-access.ts';
import { DynamicSecurityPlugin } from './dynamic-security/dynamic-security-plugin.ts';
import { PasswordCheck } from './dynamic-security/password-check.ts';
import { passwordCopyPlugin } from './dynamic-security/password-copy-plugin.ts';
import { ACCESS_LIMITS, BROKER_LIMITS } from './limits.ts';
import { type Listener, type ListenerOptions, startListener } from './listening/listener.ts';
import { ListenerCertificates } from './listening/listener-certificates.ts';
import { type RefusalMessage, RefusedConnects } from './listening/refused-connects.ts';
import type { LiveSettings } from './live-settings.ts';
import { BrokerStore } from './store/broker-store.ts';
import type { QuarantinedRecord } from './store/quarantine.ts';
import { startStreams } from './streams/embedded-streams.ts';
import { startTopics } from './topics/embedded-topic-recorder.ts';
import { Traffic } from './traffic/traffic.ts';
import type { WorkerOptions } from './worker-protocol.ts';

export interface AssembledBroker {
  readonly listeners: readonly ListenerWanted[];
  /** Call it when `settings` has changed. */
  settingsChanged(): void;
  /** Refuses new connections and closes the open ones. Resolves when everything is on disk. */
  close(): Promise<void>;
}

interface BrokerHooks {
  readonly onProblem: (problem: string, error: unknown) => void;
  readonly onRefused: (message: RefusalMessage) => void;
  readonly onFault: (fault: Fault) => void;
  readonly onQuarantined: (record: QuarantinedRecord) => void;
  readonly settings: () => LiveSettings;
  /** Called when the journal is broken. The broker must shut down immediately. */
  readonly onBroken: (error: Error) => void;
  /** See `JournalHooks`. */
  readonly onDiskFault: (reason: string | null) => void;
}

const CLOSE_TIMEOUT_MS = 3_000;

export async function startBroker(options: WorkerOptions, hooks: BrokerHooks): Promise<AssembledBroker> {
  const closers = new Closers();
  try {
    const { folder, listeners: all, administrator, version } = options;
    const { onProblem, settings } = hooks;
    let hasFault = (): void => {};
    const faulted = new Promise<void>((resolve) => {
      hasFault = resolve;
    });
    const store = closers.keep(
      new BrokerStore({
        folder,
        limits: BROKER_LIMITS,
        onBroken: (error) => hooks.onBroken(new Error(`the journal cannot be written: ${error.message}`)),
        onDiskFault: (reason) => {
          hasFault();
          hooks.onDiskFault(reason);
        },
        onQuarantined: hooks.onQuarantined,
        suspicion: options.suspicion,
      }),
    );
    const { journal } = store;
    const accessStore = new AccessStore(journal, ACCESS_LIMITS);
    const { state } = accessStore;
    const passwords = new PasswordCheck();
    const access = await DynamicSecurityAccess.create(state, passwords);
    await ensureAdministrator(accessStore, administrator, passwords, access);
    const registry = new ClientRegistry(store.sessions);
    const control: ControlServer = new ControlServer({
      publish: (topic, payload) => core.publisher.publish(topic, payload),
      onBug: (error, command) => onProblem(`the command ${command.slice(0, 100)} failed`, error),
    });
    let closeTopics: (() => Promise<void>) | null = null;
    let closeStreams: (() => Promise<void>) | null = null;
    // Both are closed after the connections.
    closers.add(() => closeTopics?.());
    closers.add(() => closeStreams?.());
    closers.keep(control);
    const refused = closers.keep(
      new RefusedConnects((username) => state.policy.clients.has(username), hooks.onRefused),
    );
    const refusals = new Refusals(access, (event) => control.emit(REFUSALS_API, event));
    const ownClientIds = `brokergraph-${options.id}-`;
    const { events, traffic, hooks: clientHooks } = clientRecords(registry, control, ownClientIds);
    const core: BrokerCore = new BrokerCore({
      store,
      registry,
      access,
      limits: BROKER_LIMITS,
      reserved: { prefix: ownClientIds, username: administrator.username },
      serveControl: (connection, topic, payload) => control.serve(topic, payload, core.requester(connection)),
      onProblem,
      onRefused: (connection, connect) => {
        refused.add(connection.address, connect.username, connect.reason);
        refusals.connect(connection, connect);
      },
      onTakenOver: events.takingOver(refusals.takenOver),
      ...clientHooks,
      onDenied: refusals.denied,
      onProtocolError: refusals.protocolError,
      bindsSessions: () => settings().bindsSessions,
      onFault: hooks.onFault,
    });
    closers.add(() => Promise.race([core.close(), delay(CLOSE_TIMEOUT_MS, undefined, { ref: false })]));

    const listeners: Listener[] = [];
    const withTls = all.filter(({ tls }) => tls).map(({ number }) => number);
    const certificates = new ListenerCertificates(journal, withTls, listeners);
    const since = Date.now();
    const apis = () => control.plugins.map(({ api }) => api);
    const addresses = (username: string) =>
      [...registry.claimedBy(username)].filter(({ identity }) => identity !== null).map(({ address }) => address);
    for (const plugin of [
      new InspectPlugin({
        registry,
        incoming: store.incoming,
        subscriptions: store.subscriptions,
        since,
        emit: (event) => control.emit(INSPECT_API, event),
        events: events.log,
        traffic,
      }),
      clientControlPlugin(core.clients),
      licensePlugin(since, () => apis().filter((api) => api !== REFUSALS_API)),
      new DynamicSecurityPlugin(accessStore, core.kick, addresses),
      brokerPlugin(version, apis, () => listeners.map(({ info }) => info)),
      passwordCopyPlugin(accessStore, administrator.password, core.kick),
      certificatePlugin(certificates),
      refusals,
    ]) {
      control.register(plugin);
    }
    const parts = { core, control, onProblem };
    const { topicTreeBytes, streamStorageBytes } = options;
    const topics = await startTopics({
      ...parts,
      registry,
      store,
      ownClientIds,
      maxBytes: topicTreeBytes,
      arePayloadsStored: () => settings().storesTopicPayloads,
    });
    closeTopics = topics.close;
    closeStreams = await startStreams({ ...parts, journal, folder, maxBytes: streamStorageBytes });
    // Wills that have to be stored are published when the disk can be written.
    await Promise.race([core.resume(), faulted]);

    closers.add(publishStatistics(core, registry, store, options));
    const tlsRefusals = closers.keep(refusalLog(onProblem));
    closers.add(() => {
      for (const listener of listeners) listener.close();
    });
    const onError = (error: Error) => onProblem('a listener failed', error);
    const onRefused: ListenerOptions['onRefused'] = (listener, reason, socket) => {
      refusals.socket(listener, reason, socket);
      if (socket.by === 'TLS') tlsRefusals.refused(listener, reason);
    };
    const shared = { ...BROKER_LIMITS, accept: core.accept, onError, onRefused };
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
      settingsChanged: topics.payloadsChanged,
      close: closers.close,
    };
  } catch (error) {
    await closers.close();
    throw error;
  }
}

/** What happens to clients, and what they publish and receive. */
function clientRecords(registry: ClientRegistry, control: ControlServer, ownClientIds: string) {
  const events = new ClientEvents((event) => control.emit(INSPECT_API, event), ownClientIds);
  const traffic = new Traffic(registry, ownClientIds);
  const onClosed = (connection: Connection) => {
    events.closed(connection);
    traffic.closed(connection);
  };
  return { events, traffic, hooks: { onConnected: events.connected, onPublished: traffic.published, onClosed } };
}

/** Limits the log entries per minute, because clients can be refused as often as they like. */
const MAX_REPORTED = 20;
const PERIOD_MS = 60_000;

/** Reports why TLS listeners refuse clients: each reason of a listener once a minute, and at most 20 reasons in all. */
function refusalLog(report: (problem: string, reason: string) => void) {
  const reported = new Set<string>();
  const timer = setInterval(() => reported.clear(), PERIOD_MS).unref();
  const refused = ({ number, port }: ListenerInfo, reason: string): void => {
    const problem = `TLS listener ${number} (port ${port}) refuses clients`;
    const key = `${problem}: ${reason}`;
    if (reported.has(key) || reported.size >= MAX_REPORTED) return;
    reported.add(key);
    report(problem, reason);
  };
  return { refused, close: () => clearInterval(timer) };
}
