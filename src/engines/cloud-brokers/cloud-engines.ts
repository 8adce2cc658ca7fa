import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { Counter } from 'prom-client';
import type { Fault } from '../../data-plane/broker/core/faults.ts';
import { startEmbeddedBroker } from '../../data-plane/broker/embedded-broker.ts';
import type { EmbeddedSettings } from '../../data-plane/broker/live-settings.ts';
import type { BrokerRecord } from '../../domains/brokers/broker-cache.ts';
import type { InputIssue } from '../../platform/errors.ts';
import {
  addressOf,
  type Engine,
  hasPlainListener,
  type ListenerWanted,
  type RunningBroker,
  type RunningState,
} from '../../protocol/hosting/broker-engine.ts';
import { isLocalHost } from '../../protocol/network/allowed-hosts.ts';
import { MosquittoBroker, startMosquittoBroker } from '../mosquitto/mosquitto-broker.ts';
import { settingsSince21 } from '../mosquitto/mosquitto-config.ts';
import { findMosquitto, type MosquittoPlaces } from '../mosquitto/mosquitto-program.ts';
import { isSince21, versionOf } from '../mosquitto/mosquitto-version.ts';
import type { CloudBrokerInput } from './cloud-input.ts';
import type { MqttRefusals } from './mqtt-refusals.ts';

interface CloudEnginesOptions {
  readonly host: string;
  /** Host in the URLs of the brokers. Default: where this machine reaches `host`. */
  readonly advertisedHost?: string | undefined;
  /** URL of the compiled worker of the embedded broker. Default: next to its module. */
  readonly workerUrl?: URL | undefined;
  readonly streamStorageBytes?: number;
  readonly topicTreeBytes?: number;
  readonly settingsOf?: (brokerId: string) => EmbeddedSettings;
  readonly refusals?: Pick<MqttRefusals, 'reported'>;
  readonly mosquitto: MosquittoPlaces;
  readonly log: Logger;
}

interface EngineStart {
  readonly broker: BrokerRecord;
  readonly folder: string;
  readonly administrator: { readonly username: string; readonly password: string };
  readonly onState: (state: RunningState, error?: string) => void;
}

export class CloudEngines {
  /** By what an exception ended at most. */
  readonly faults = new Counter({
    name: 'brokergraph_mqtt_faults_total',
    help: 'Exceptions in embedded brokers that ended a connection, or lost a message or a stored record; the log has their stacks',
    labelNames: ['kind'],
    registers: [],
  });
  readonly #options: CloudEnginesOptions;

  constructor(options: CloudEnginesOptions) {
    this.#options = options;
    // The series exist before anything fails, so that alerts can compare values.
    for (const kind of ['connection', 'message', 'record'] satisfies Fault['kind'][]) this.faults.inc({ kind }, 0);
  }

  /** Returns why the engine is not available on this machine, and what would help. `null` if it is. */
  missing(engine: Engine): string | null {
    if (engine === 'embedded') return null;
    const found = findMosquitto(this.#options.mosquitto);
    return typeof found === 'string' ? found : null;
  }

  /** Returns which settings of a broker the engine of this machine lacks, and what would help. */
  async settingIssues(input: CloudBrokerInput): Promise<InputIssue[]> {
    const settings = settingsSince21(input);
    if (settings.length === 0) return [];
    const refused = (reason: string) => settings.map((setting) => ({ path: `input.${setting}`, reason }));
    if (input.engine === 'embedded') return refused('is a setting of the engine MOSQUITTO only');
    const program = findMosquitto(this.#options.mosquitto);
    // A start reports why the program cannot be used.
    const version = typeof program === 'string' ? null : await versionOf(program).catch(() => null);
    return version === null || isSince21(version) ? [] : refused(`needs Mosquitto 2.1 or newer; this is ${version}`);
  }

  /** Starts a broker. Rejects with a reason for the operator if it cannot run. */
  async start({ broker, folder, administrator, onState }: EngineStart): Promise<RunningBroker> {
    const { workerUrl, streamStorageBytes, topicTreeBytes, settingsOf, refusals, mosquitto, log } = this.#options;
    const { id, engine } = broker;
    const listeners = this.listenersOf(broker.listeners);
    if (engine === 'embedded') {
      return startEmbeddedBroker({
        id,
        folder,
        listeners,
        administrator,
        workerUrl,
        streamStorageBytes,
        topicTreeBytes,
        settings: settingsOf?.(id),
        log,
        onState,
        onRefused: (message) => refusals?.reported(id, message),
        onFault: (kind) => this.faults.inc({ kind }),
      });
    }
    if (engine !== 'mosquitto') throw new Error(`There is no engine "${engine}"`);
    const program = findMosquitto(mosquitto);
    if (typeof program === 'string') throw new Error(program);
    const { maxClients, maxConnections } = broker;
    const maximums = { maxClients, maxConnections };
    return startMosquittoBroker({
      id,
      folder: resolve(folder),
      listeners,
      maximums,
      administrator,
      program,
      log,
      onState,
    });
  }

  /**
   * This service connects over TCP by MQTT 5, without TLS and without a PROXY header. Without such a listener, one is
   * added: for this machine only, unless other machines reach the broker at the advertised host.
   */
  listenersOf(listeners: readonly Omit<ListenerWanted, 'host'>[]): ListenerWanted[] {
    const { host, advertisedHost = LOOPBACK } = this.#options;
    const wanted = listeners.map(
      ({ number, protocol, port, tls, requireCertificate, protocolLevels = null, proxyProtocol = null }) => {
        return { number, protocol, host, port, tls, requireCertificate, protocolLevels, proxyProtocol };
      },
    );
    if (hasPlainListener(wanted)) return wanted;
    return [{ ...OWN_LISTENER, host: isLocalHost(advertisedHost) ? LOOPBACK : host }, ...wanted];
  }

  /** The URL at which all processes of the service reach a broker of this one. */
  urlOf(listeners: readonly ListenerWanted[]): string {
    return addressOf(listeners, this.#options.advertisedHost);
  }
}

const LOOPBACK = '127.0.0.1';

const OWN_LISTENER = { number: 0, protocol: 'MQTT', port: 0, tls: false, requireCertificate: false } as const;

export const isMosquitto = (running: RunningBroker | null): running is MosquittoBroker =>
  running instanceof MosquittoBroker;
