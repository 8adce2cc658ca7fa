import { ServiceError } from '../../../platform/errors.ts';
import type { BrokerLink } from '../../../protocol/mqtt/broker-link.ts';
import { whenConnected } from '../../../protocol/mqtt/when-connected.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';
import { type AccessRefusals, notAllowed } from '../access-refusals.ts';
import { type PreparedMessage, type PublishInput, preparedMessage } from './publish-input.ts';

interface PublishServiceOptions {
  readonly runtimes: BrokerRuntimes;
  readonly refusals: AccessRefusals;
  readonly requireSupport: (broker: BrokerRecord) => void;
  readonly timeoutMs: number;
}

export const PUBLISH_OUTCOMES = ['ACKNOWLEDGED', 'NO_MATCHING_SUBSCRIBERS', 'SENT', 'NOT_PUBLISHED'] as const;

export interface PublishReport {
  readonly broker: BrokerRecord;
  readonly topic: string;
  readonly payloadBytes: number;
  readonly outcome: (typeof PUBLISH_OUTCOMES)[number];
  /** `null` if the broker reported none. */
  readonly reasonCode: number | null;
  readonly protocolVersion: 4 | 5;
  readonly remarks: readonly string[];
}

const NO_MATCHING_SUBSCRIBERS = 0x10;
const UNREPORTED =
  'The broker does not report whether it accepted the message: with QoS 0 it sends no acknowledgement, and MQTT 3.1.1 also acknowledges messages that the broker drops.';

/** Publishes single messages on a connection of their own: a broker may close the connection that it refuses. */
export class PublishService {
  readonly #options: PublishServiceOptions;

  constructor(options: PublishServiceOptions) {
    this.#options = options;
  }

  /**
   * Errors: INVALID, NOT_SUPPORTED_BY_BROKER (cluster, properties, QoS or RETAIN), NOT_ALLOWED with the deciding rule,
   * BROKER_REJECTED, and those of an unreachable broker.
   */
  async publish(broker: BrokerRecord, input: PublishInput): Promise<PublishReport> {
    const message = preparedMessage(input);
    const { runtimes, requireSupport, timeoutMs } = this.#options;
    requireSupport(broker);
    const { messages } = await runtimes.ask(broker, async (runtime) => runtime);
    const { session, release } = messages.acquire();
    try {
      await whenConnected(session, timeoutMs);
      return await this.#publish(broker, session, message, input.dryRun === true);
    } finally {
      release();
    }
  }

  async #publish(broker: BrokerRecord, session: BrokerLink, message: PreparedMessage, isDryRun: boolean) {
    const { topic, payload, qos } = message;
    const version = supportedVersion(session, message);
    const remarks: string[] = [];
    const isReported = version === 5 && qos > 0;
    if (isDryRun || !isReported) remarks.push(...(await this.#remarks(broker, topic, session.clientId)));
    if (!isReported) remarks.push(UNREPORTED);
    const reasonCode = isDryRun ? undefined : await this.#send(broker, session, message);
    return {
      broker,
      topic,
      payloadBytes: payload.length,
      outcome: outcomeOf(isDryRun, qos, reasonCode),
      reasonCode: reasonCode ?? null,
      protocolVersion: version,
      remarks,
    };
  }

  #send(broker: BrokerRecord, session: BrokerLink, message: PreparedMessage): Promise<number | undefined> {
    const { topic, payload, ...options } = message;
    return new Promise((resolve, reject) => {
      session.send(topic, payload, options, (error, reasonCode) => {
        if (error === null) resolve(reasonCode);
        else {
          const access = { action: 'PUBLISH', topic, clientId: session.clientId } as const;
          this.#options.refusals.explained(broker, error, access).then(reject, reject);
        }
      });
    });
  }

  /** Errors: NOT_ALLOWED if dynamic security alone decides, and denies it. */
  async #remarks(broker: BrokerRecord, topic: string, clientId: string): Promise<string[]> {
    const access = { action: 'PUBLISH', topic, clientId } as const;
    const explanation = await this.#options.refusals.explanation(broker, access);
    if (explanation === null || explanation.allowed) return [];
    const refusal = notAllowed(broker, access, explanation);
    if (explanation.elsewhere === null) throw refusal;
    return [refusal.message, explanation.elsewhere];
  }
}

/** The broker would refuse the message, or end the connection. */
function supportedVersion({ publishing }: BrokerLink, { qos, retain, properties }: PreparedMessage): 4 | 5 {
  if (publishing === null) throw new ServiceError('BROKER_UNREACHABLE', 'The connection to the broker was lost');
  const { version, maximumQos, isRetainAvailable } = publishing;
  if (properties !== undefined && version === 4) {
    throw unsupported('properties', 'The broker speaks MQTT 3.1.1, which has no message properties: leave them out');
  }
  if (qos > maximumQos) throw unsupported('qos', `The broker accepts messages of at most QoS ${maximumQos}`);
  if (retain && !isRetainAvailable) throw unsupported('retain', 'The broker does not retain messages');
  return version;
}

const unsupported = (feature: string, reason: string) =>
  new ServiceError('NOT_SUPPORTED_BY_BROKER', reason, { info: { feature, reason } });

function outcomeOf(isDryRun: boolean, qos: 0 | 1 | 2, reasonCode: number | undefined): PublishReport['outcome'] {
  if (isDryRun) return 'NOT_PUBLISHED';
  if (qos === 0) return 'SENT';
  return reasonCode === NO_MATCHING_SUBSCRIBERS ? 'NO_MATCHING_SUBSCRIBERS' : 'ACKNOWLEDGED';
}
