import type { IConnectPacket, IPublishPacket } from 'mqtt-packet';
import { startMosquitto } from '../../support/mosquitto.ts';
import { startBrokerHere } from './embedded.ts';
import { rawClient } from './raw-client.ts';

export const PORTS = {
  embedded: async () => (await startBrokerHere()).mqttPort,
  Mosquitto: async () => (await startMosquitto()).port,
};
export const BROKERS = ['embedded', 'Mosquitto'] as const;

export type Raw = Awaited<ReturnType<typeof rawClient>>;

interface SubscribeOptions {
  readonly qos?: 0 | 1 | 2;
  readonly nl?: boolean;
  readonly rap?: boolean;
  readonly identifier?: number;
}

/** Subscribes and returns the reason codes of SUBACK; `null` if the connection was closed. */
export async function subscribe(client: Raw, filters: string | readonly string[], options: SubscribeOptions = {}) {
  const { qos = 2, nl = false, rap = false, identifier } = options;
  const subscriptions = [filters].flat().map((topic) => ({ topic, qos, nl, rap, rh: 0 }));
  const properties = identifier === undefined ? {} : { properties: { subscriptionIdentifier: identifier } };
  const number = client.count('suback') + 1;
  client.send({ cmd: 'subscribe', messageId: 1_000 + number, subscriptions, ...properties });
  await Promise.race([client.until('suback', number), client.closed]);
  const last = client.packets.findLast(({ cmd }) => cmd === 'suback');
  return client.count('suback') === number && last?.cmd === 'suback' ? last.granted : null;
}

export interface MemberOptions extends Partial<IConnectPacket> {
  readonly qos?: 0 | 1 | 2;
  /** Whether the client acknowledges what it gets. Default: true. */
  readonly acknowledges?: boolean;
}

/** A connected member of a shared subscription. */
export async function member(port: number, filter: string, options: MemberOptions = {}): Promise<Raw> {
  const { qos = 2, acknowledges: doesAcknowledge = true, ...connect } = options;
  const client = await rawClient(port, connect);
  if (doesAcknowledge) acknowledgeAll(client);
  await subscribe(client, filter, { qos });
  return client;
}

/** The client acknowledges what it has got and will get, until the returned function is called. */
export function acknowledgeAll(client: Raw): () => void {
  let isOver = false;
  client.each((packet) => {
    const { messageId = 0 } = packet;
    if (isOver) return;
    if (packet.cmd === 'publish' && packet.qos === 1) client.send({ cmd: 'puback', messageId });
    else if (packet.cmd === 'publish' && packet.qos === 2) client.send({ cmd: 'pubrec', messageId });
    else if (packet.cmd === 'pubrel') client.send({ cmd: 'pubcomp', messageId });
  });
  return () => {
    isOver = true;
  };
}

/** QoS 2 publishes without PUBREL at a time: Mosquitto takes 20. */
const IN_FLIGHT = 20;

/** Publishes and waits for the acknowledgements. */
export async function publish(
  client: Raw,
  topic: string,
  payloads: readonly string[],
  fields: Partial<IPublishPacket> = {},
): Promise<void> {
  const { qos = 1 } = fields;
  let messageId = client.count('puback') + client.count('pubcomp');
  const send = (payload: string) => {
    messageId += 1;
    client.send({ cmd: 'publish', topic, payload, qos, messageId, dup: false, retain: false, ...fields });
    return messageId;
  };
  if (qos < 2) {
    const acknowledged = client.count('puback') + payloads.length;
    for (const payload of payloads) send(payload);
    if (qos === 1) await client.until('puback', acknowledged);
  } else {
    for (let from = 0; from < payloads.length; from += IN_FLIGHT) {
      const ids = payloads.slice(from, from + IN_FLIGHT).map(send);
      // PUBREC says that the broker has the message; PUBREL does not come before [MQTT-4.3.3-4].
      await client.until('pubrec', client.count('pubcomp') + ids.length);
      for (const id of ids) client.send({ cmd: 'pubrel', messageId: id });
      await client.until('pubcomp', client.count('pubcomp') + ids.length);
    }
  }
  await client.settle();
}

const publishes = ({ packets }: Raw) => packets.filter((packet) => packet.cmd === 'publish');

/** Payloads that the client got, in their order. */
export const got = (client: Raw): string[] => publishes(client).map(({ payload }) => payload.toString());

export const lastPublish = (client: Raw): IPublishPacket | undefined => publishes(client).at(-1);

export const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index));

/** The reason code of DISCONNECT when the connection is closed. */
export async function reasonOf({ packets, closed }: Raw): Promise<number | undefined> {
  await closed;
  const last = packets.at(-1);
  return last?.cmd === 'disconnect' ? last.reasonCode : undefined;
}
