import type { Duplex } from 'node:stream';
import type { MqttClient } from 'mqtt';
import { ServiceError } from '../../platform/errors.ts';
import type { ConnectOptions } from './connect-options.ts';
import { failureOf } from './link-failure.ts';
import * as internals from './mqttjs-internals.ts';
import type { PacketLimits } from './packet-limits.ts';
import { MalformedPacket } from './packet-properties.ts';
import type { PacketListener } from './packet-reader.ts';
import { IGNORED, PacketStream } from './packet-stream.ts';
import type { ReadingLimits } from './reading-limits.ts';

export interface SplitClientOptions {
  readonly client: ConnectOptions;
  readonly version: 4 | 5;
  readonly limits: PacketLimits;
  readonly readingLimits: ReadingLimits;
}

export interface SplitClient {
  readonly client: MqttClient;
  readonly stream: Duplex;
  pause(): void;
  resume(): void;
  discard(): void;
  /**
   * Sends DISCONNECT if connected, within half a second. With MQTT 5 the session ends unless `keepSession` is true;
   * with 3.1.1 the CONNECT packet has decided about it.
   */
  end(options?: { readonly keepSession?: boolean }): Promise<void>;
}

const CONNACK = 2;
/** For the broker to read DISCONNECT. */
const END_TIMEOUT_MS = 500;

/**
 * Opens an MQTT.js client whose input is split: packets of publishing (the bulk) are reported to `listener`, in their
 * order among all packets; MQTT.js reads the others. Invalid input destroys the socket with an error.
 *
 * Errors: OpenSSL throws if it cannot read a certificate or key.
 */
export function openSplitClient(
  { client: clientOptions, version, limits, readingLimits }: SplitClientOptions,
  listener: Omit<PacketListener, 'onOther'>,
): SplitClient {
  let toClient: NodeJS.WritableStream | null = null;
  let isConnacked = false;
  let isAnswered = false;
  let readAt = 0;
  // [MQTT-3.2.0-1]
  const assertConnacked = () => {
    if (!isConnacked) throw new MalformedPacket('The first packet is not a CONNACK');
  };
  const onRead = () => {
    readAt = performance.now();
    // An acknowledgement proves both directions, so no PINGREQ is needed for another keepalive.
    if (isAnswered) internals.restartKeepalive(client);
    isAnswered = false;
  };
  const packets = new PacketStream(
    clientOptions,
    { version, limits, readingLimits, onRead },
    {
      onPublish: (packet) => {
        assertConnacked();
        listener.onPublish(packet);
      },
      onAcknowledgement: (name, id, reasonCode) => {
        assertConnacked();
        isAnswered = true;
        listener.onAcknowledgement(name, id, reasonCode);
      },
      onRelease: (id) => {
        assertConnacked();
        listener.onRelease(id);
      },
      onOther: (packet) => {
        if ((packet[0] as number) >> 4 === CONNACK) {
          isConnacked = true;
          // MQTT.js emits `connect` later, and the messages of a resumed session follow CONNACK immediately.
          packets.pause();
        }
        toClient?.write(packet);
      },
    },
  );
  const { stream } = packets;
  const client = internals.createClient(stream, clientOptions, (input) => {
    toClient = input;
    packets.start();
  });
  // The owner may have removed its listener when a late error arrives.
  client.on('error', () => undefined);
  client.once('connect', () => packets.resume());
  // PINGRESP follows everything that the broker has sent before, which may take longer than the half keepalive that
  // MQTT.js waits.
  internals.onKeepaliveTimeout(client, (giveUp) => {
    // Input that has arrived in this event loop iteration is read first.
    setImmediate(() => {
      const keepalive = internals.keepaliveSeconds(client) ?? 0;
      if (client.connected && performance.now() - readAt < keepalive * 500) {
        internals.sendPing(client);
        internals.restartKeepalive(client);
      } else giveUp();
    });
  });
  return {
    client,
    stream,
    pause: () => packets.pause(),
    resume: () => packets.resume(),
    discard: () => packets.discard(),
    end: ({ keepSession = false } = {}) => end(client, stream, keepSession),
  };
}

async function end(client: MqttClient, stream: Duplex, keepSession: boolean): Promise<void> {
  // The socket may emit errors after its end.
  stream.on('error', () => undefined);
  if (stream.destroyed || !client.connected) {
    await client.endAsync(true).catch(() => undefined);
    return;
  }
  const endsSession = client.options.protocolVersion === 5 && !keepSession;
  const timer = setTimeout(() => stream.destroy(), END_TIMEOUT_MS);
  const closed = new Promise<void>((resolve) => stream.once('close', () => resolve()));
  internals.dropUnacknowledged(client);
  client.end(false, endsSession ? { properties: { sessionExpiryInterval: 0 } } : {});
  await closed;
  clearTimeout(timer);
}

/** Connects with a clean session, which deletes the broker's one, and disconnects. Errors: BROKER_UNREACHABLE. */
export async function connectOnce({ client: options, ...bounds }: SplitClientOptions): Promise<void> {
  const { properties: _, ...clientOptions } = options;
  const connection = openSplitClient({ ...bounds, client: { ...clientOptions, clean: true } }, IGNORED);
  try {
    await new Promise<void>((resolve, reject) => {
      connection.client.once('connect', () => resolve());
      connection.client.on('error', reject);
      connection.client.once('close', () => reject(new Error('closed')));
    });
  } catch (error) {
    throw new ServiceError('BROKER_UNREACHABLE', failureOf(error).text, { cause: error });
  } finally {
    await connection.end();
  }
}
