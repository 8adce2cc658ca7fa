import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { Counter } from 'prom-client';
import type { BrokerRecord } from '../../domains/brokers/broker-cache.ts';
import {
  addressOf,
  type Engine,
  hasPlainListener,
  type ListenerWanted,
  type RunningBroker,
  type RunningState,
} from '../../domains/brokers/broker-engine.ts';
import { isLocalHost } from '../../protocol/network/allowed-hosts.ts';
import type { Fault } from '../embedded/core/faults.ts';
import { startEmbeddedBroker } from '../embedded/embedded-broker.ts';
import type { EmbeddedSettings } from '../embedded/live-settings.ts';
import { MosquittoBroker, startMosquittoBroker } from '../mosquitto/mosquitto-broker.ts';
import { findMosquitto, type MosquittoPlaces } from '../mosquitto/mosquitto-program.ts';
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
    return startMosquittoBroker({ id, folder: resolve(folder), listeners, administrator, program, log, onState });
  }

  /**
   * This service connects over TCP without TLS. Without such a listener, one is added: for this machine only, unless
   * other machines reach the broker at the advertised host.
   */
  listenersOf(listeners: readonly Omit<ListenerWanted, 'host'>[]): ListenerWanted[] {
    const { host, advertisedHost = LOOPBACK } = this.#options;
    const wanted = listeners.map(({ number, protocol, port, tls, requireCertificate }) => {
      return { number, protocol, host, port, tls, requireCertificate };
    });
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
