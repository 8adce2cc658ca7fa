import type { ServiceError } from '../../../platform/errors.ts';
import { BrokerLink } from '../../../protocol/mqtt/broker-link.ts';
import type { BrokerMessage, LinkStatus, Stop } from '../../../protocol/mqtt/broker-session.ts';
import { FilterTree } from '../../../protocol/mqtt/filter-tree.ts';
import { type BrokerLinkOptions, LASTING_LINK } from '../../../protocol/mqtt/link-options.ts';
import {
  type PublishProperties,
  readPublishProperties,
  writePublishProperties,
} from '../../../protocol/mqtt/publish-properties.ts';
import type { BridgeMessage } from '../model/bridge-message.ts';
import { Echoes } from './echoes.ts';

/** A message from the broker. `taken` acknowledges it; until then the broker sends it again after a reconnect. */
export interface ArrivedMessage extends BridgeMessage {
  taken(): void;
}

interface BridgeSubscribeOptions {
  readonly qos: 0 | 1 | 2;
  /**
   * Whether retained messages are sent when the subscription starts (not when the session is resumed), with their
   * retain flag (MQTT 5; with 3.1.1 brokers clear it on live messages).
   */
  readonly retained: boolean;
  readonly onRefused?: (error: ServiceError) => void;
}

export interface BridgeSessionOptions
  extends Omit<
    BrokerLinkOptions,
    'isLasting' | 'receiveMaximum' | 'clientId' | 'isBoundedByCaller' | 'isClaimedByTopic'
  > {
  /** The same after a restart and in each process that may run the bridge, because the session belongs to it. */
  readonly clientId: string;
}

/**
 * One connection of a bridge to one broker, for reading and publishing, in a persistent session. It never receives its
 * own messages (No Local [MQTT-3.8.3-3]; see Echoes for 3.1.1), which requires one connection for both. It needs no
 * pause: the Receive Maximum (MQTT 5) or the broker's window bounds unacknowledged messages, and the queue bounds QoS
 * 0.
 */
export class MqttBridgeSession {
  readonly #link: BrokerLink;
  /** With MQTT 3.1.1: the subscribed filters, and the expected echoes. */
  readonly #filters = new FilterTree<symbol>();
  readonly #echoes = new Echoes();
  /** Most messages have equal properties: the last ones written, and their bytes. */
  #written: PublishProperties | null = null;
  #bytes: Buffer | undefined;

  constructor(options: BridgeSessionOptions) {
    this.#link = new BrokerLink({
      ...LASTING_LINK,
      ...options,
      isBoundedByCaller: true,
      // If a filter is replaced, messages that the broker queued for the old filter belong to the new one.
      isClaimedByTopic: true,
    });
    this.#link.onStatus(({ state, resumed }) => {
      if (state === 'CONNECTED' && resumed === false) this.#echoes.clear();
    });
  }

  get status(): LinkStatus {
    return this.#link.status;
  }

  get protocolVersion(): 4 | 5 | null {
    return this.#link.protocolVersion;
  }

  onStatus(listener: (status: LinkStatus) => void): Stop {
    return this.#link.onStatus(listener);
  }

  open(): void {
    this.#link.open();
  }

  /**
   * Remains across reconnects. Errors: NOT_ALLOWED, BROKER_REJECTED, BROKER_UNREACHABLE, BROKER_TIMEOUT; the filter is
   * then not subscribed.
   */
  async subscribe(
    filter: string,
    listener: (message: ArrivedMessage) => void,
    { qos, retained, onRefused }: BridgeSubscribeOptions,
  ): Promise<Stop> {
    const ownFilter = Symbol(filter);
    this.#filters.add(filter, ownFilter);
    const forget = () => this.#filters.remove(filter, ownFilter);
    const received = (message: BrokerMessage) => {
      if (!this.#isEcho(message)) listener(new Arrived(message));
    };
    try {
      const stop = await this.#link.subscribe(filter, received, {
        qos,
        retained,
        noLocal: true,
        retainAsPublished: retained,
        retainedOnce: true,
        ...(onRefused ? { onRefused } : {}),
      });
      return () => {
        forget();
        stop();
      };
    } catch (error) {
      forget();
      throw error;
    }
  }

  /**
   * Calls `done` once: `null` when sent (QoS 0) or acknowledged; NOT_ALLOWED or BROKER_REJECTED for a permanent
   * refusal; BROKER_UNREACHABLE if it must be sent again on the next connection. Messages are sent in the order of the
   * calls.
   */
  publish(message: BridgeMessage, done: (error: ServiceError | null) => void): void {
    const { topic, payload, qos, retain } = message;
    const properties = this.#propertyBytes(message.properties);
    if (this.protocolVersion === 4 && this.#filters.match(topic).length > 0) this.#echoes.expect(topic, payload);
    this.#link.sendAgain(topic, payload, { qos, retain, properties }, done);
  }

  async close({ discard }: { readonly discard: boolean }): Promise<void> {
    await this.#link.close({ keepSession: !discard });
  }

  /** With MQTT 3.1.1, a retained message is no echo of a publish. */
  #isEcho({ topic, payload, retain }: BrokerMessage): boolean {
    return this.protocolVersion === 4 && !retain && this.#echoes.isEcho(topic, payload as Buffer);
  }

  #propertyBytes(properties: PublishProperties | null): Buffer | undefined {
    if (properties !== this.#written) {
      this.#bytes = properties === null ? undefined : writePublishProperties(properties);
      this.#written = properties;
    }
    return this.#bytes;
  }
}

class Arrived implements ArrivedMessage {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly properties: PublishProperties | null;
  readonly receivedAt = Date.now();
  readonly #release: (() => void) | undefined;

  constructor(message: BrokerMessage) {
    this.topic = message.topic;
    // A link with `isLasting` reads payloads as buffers.
    this.payload = message.payload as Buffer;
    this.qos = message.qos;
    this.retain = message.retain;
    this.properties = message.properties === undefined ? null : readPublishProperties(message.properties);
    this.#release = message.hold?.();
  }

  taken(): void {
    this.#release?.();
  }
}
