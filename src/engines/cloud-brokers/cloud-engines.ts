import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { Counter } from 'prom-client';
import type { BrokerRecord } from '../../domains/brokers/broker-cache.ts';
import {
  type Engine,
  hasPlainListener,
  type ListenerWanted,
  type RunningBroker,
  type RunningState,
} from '../../domains/brokers/broker-engine.ts';
import type { TopicPayloads } from '../../domains/topic-tree/hosting/topic-payloads.ts';
import type { Fault } from '../embedded/core/faults.ts';
import { startEmbeddedBroker } from '../embedded/embedded-broker.ts';
import { MosquittoBroker, startMosquittoBroker } from '../mosquitto/mosquitto-broker.ts';
import { findMosquitto, type MosquittoPlaces } from '../mosquitto/mosquitto-program.ts';
import type { MqttRefusals } from './mqtt-refusals.ts';

interface CloudEnginesOptions {
  readonly host: string;
  /** URL of the compiled worker of the embedded broker. Default: next to its module. */
  readonly workerUrl?: URL | undefined;
  readonly streamStorageBytes?: number;
  readonly topicTreeBytes?: number;
  readonly topicPayloadsOf?: (brokerId: string) => TopicPayloads;
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
    const { workerUrl, streamStorageBytes, topicTreeBytes, topicPayloadsOf, refusals, mosquitto, log } = this.#options;
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
        topicPayloads: topicPayloadsOf?.(id),
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

  /** This service connects over TCP without TLS. Without such a listener, one is added for this machine only. */
  listenersOf(listeners: readonly Omit<ListenerWanted, 'host'>[]): ListenerWanted[] {
    const { host } = this.#options;
    const wanted = listeners.map(({ number, protocol, port, tls, requireCertificate }) => {
      return { number, protocol, host, port, tls, requireCertificate };
    });
    return hasPlainListener(wanted) ? wanted : [OWN_LISTENER, ...wanted];
  }
}

const OWN_LISTENER: ListenerWanted = {
  number: 0,
  protocol: 'MQTT',
  host: '127.0.0.1',
  port: 0,
  tls: false,
  requireCertificate: false,
};

export const isMosquitto = (running: RunningBroker | null): running is MosquittoBroker =>
  running instanceof MosquittoBroker;
