import type { PublishProperties } from '../../../protocol/mqtt/publish-properties.ts';
import type { RequestedSubscription } from '../store/subscription.ts';

/** Properties of a packet (MQTT 5, 2.2.2.2) that the broker uses. Buffers are views of the bytes that were read. */
export interface PacketProperties extends PublishProperties {
  readonly subscriptionIdentifier?: number;
  /** Seconds. */
  readonly sessionExpiryInterval?: number;
  readonly authenticationMethod?: string;
  readonly authenticationData?: Buffer;
  readonly requestProblemInformation?: boolean;
  /** Seconds. */
  readonly willDelayInterval?: number;
  readonly receiveMaximum?: number;
  readonly topicAlias?: number;
  /** Bytes. */
  readonly maximumPacketSize?: number;
}

export type ProtocolVersion = 3 | 4 | 5;

export interface ReceivedWill {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly properties: PacketProperties;
}

export interface ConnectPacket {
  readonly cmd: 'connect';
  readonly protocolVersion: ProtocolVersion;
  /** Whether a bridge of Mosquitto connects by MQTT 3. */
  readonly isBridge: boolean;
  /** Clean Start, in MQTT 3 Clean Session. */
  readonly clean: boolean;
  /** Seconds. */
  readonly keepalive: number;
  readonly clientId: string;
  readonly will: ReceivedWill | null;
  readonly username: string | undefined;
  readonly password: Buffer | undefined;
  readonly properties: PacketProperties;
}

export interface ReceivedPublish {
  readonly cmd: 'publish';
  /** Empty if the packet has a topic alias instead. */
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  /** 0 for QoS 0. */
  readonly messageId: number;
  readonly properties: PacketProperties;
}

export interface ReceivedAcknowledgement {
  readonly cmd: 'puback' | 'pubrec' | 'pubrel' | 'pubcomp';
  readonly messageId: number;
  readonly reasonCode: number;
}

export interface SubscribePacket {
  readonly cmd: 'subscribe';
  readonly messageId: number;
  readonly subscriptions: readonly Omit<RequestedSubscription, 'identifier'>[];
  readonly properties: PacketProperties;
}

export interface UnsubscribePacket {
  readonly cmd: 'unsubscribe';
  readonly messageId: number;
  readonly unsubscriptions: readonly string[];
}

export interface DisconnectPacket {
  readonly cmd: 'disconnect';
  readonly reasonCode: number;
  readonly properties: PacketProperties;
}

/** A packet of a client. */
export type IncomingPacket =
  | ConnectPacket
  | ReceivedPublish
  | ReceivedAcknowledgement
  | SubscribePacket
  | UnsubscribePacket
  | DisconnectPacket
  | { readonly cmd: 'pingreq' };
