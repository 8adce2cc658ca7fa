import type { ConnectPacket } from 'aedes';
import { topicNameProblem } from '../topic-rules.ts';
import { MALFORMED_PACKET } from './connection.ts';
import type { SentWillProperties } from './will-properties.ts';

/** Reason code of CONNACK (MQTT 5, 3.2.2.2). */
const TOPIC_NAME_INVALID = 0x90;

export type WillRefusal = typeof MALFORMED_PACKET | typeof TOPIC_NAME_INVALID;

/** The reason code of MQTT 5 to refuse a CONNECT with because its will could not be published; `null`: it can, or there is none. */
export function willRefusal({ will }: ConnectPacket): WillRefusal | null {
  if (!will) return null;
  // mqtt-packet 9.0.2 lets QoS 3 pass [MQTT-3.1.2-12].
  if (![0, 1, 2].includes(will.qos ?? 0)) return MALFORMED_PACKET;
  const { responseTopic } = (will.properties ?? {}) as SentWillProperties;
  const topics = responseTopic === undefined ? [will.topic] : [will.topic, responseTopic];
  return topics.every((topic) => topicNameProblem(topic) === null) ? null : TOPIC_NAME_INVALID;
}
