import { MqttClient } from 'mqtt';
import type { ConnectOptions } from './connect-options.ts';
import type { Intake } from './intake.ts';
import type { PacketLimits } from './packet-limits.ts';
import { MalformedPacket } from './packet-properties.ts';
import type { PacketListener } from './packet-reader.ts';
import { PacketStream } from './packet-stream.ts';

export interface SplitClientOptions {
  readonly client: ConnectOptions;
  readonly version: 4 | 5;
  readonly limits: PacketLimits;
  readonly intake: Intake;
}

export interface SplitClient {
  readonly client: MqttClient;
  /** Nothing more is reported or taken from the broker until `resume`. */
  pause(): void;
  /** Goes on with the end of what runs now. */
  resume(): void;
  /** What comes is thrown away, so that the end of the connection is seen. */
  discard(): void;
}

/** Type of packet. */
const CONNACK = 2;

/**
 * A client of mqtt.js that reads only the packets that are not of publishing: the others, the many ones of a connection, are reported to
 * `listener`, each in its turn among all packets. Writing and the end of the connection are between the client and the socket.
 * What cannot be read, or is more than is allowed, destroys the socket with an error.
 *
 * Errors: a certificate or key that OpenSSL cannot read is thrown.
 */
export function openSplitClient(
  { client: clientOptions, version, limits, intake }: SplitClientOptions,
  listener: Omit<PacketListener, 'onOther'>,
): SplitClient {
  let toClient: NodeJS.WritableStream | null = null;
  let isConnacked = false;
  let isAnswered = false;
  let readAt = 0;
  // [MQTT-3.2.0-1]
  const assertConnacked = () => {
    if (!isConnacked) throw new MalformedPacket('The first packet is no CONNACK');
  };
  const onRead = () => {
    readAt = performance.now();
    // What was answered was sent: a ping would tell neither side anything.
    if (isAnswered) client.reschedulePing();
    isAnswered = false;
  };
  const reading = new PacketStream(
    clientOptions,
    { version, limits, intake, onRead },
    {
      onPublish: (packet) => {
        assertConnacked();
        listener.onPublish(packet);
      },
      onAnswer: (name, id, reasonCode) => {
        assertConnacked();
        isAnswered = true;
        listener.onAnswer(name, id, reasonCode);
      },
      onRelease: (id) => {
        assertConnacked();
        listener.onRelease(id);
      },
      // One packet at a time: mqtt.js has handled it when this returns.
      onOther: (packet) => {
        if ((packet[0] as number) >> 4 === CONNACK) {
          isConnacked = true;
          // mqtt.js emits `connect` later, and messages of a resumed session come right behind.
          reading.pause();
        }
        toClient?.write(packet);
      },
    },
  );
  // The only way in which mqtt.js reads.
  reading.stream.pipe = (destination) => {
    toClient = destination;
    reading.start();
    return destination;
  };
  const client = new MqttClient(() => reading.stream, clientOptions);
  // The owner may have ended it when it fails.
  client.on('error', () => undefined);
  client.once('connect', () => reading.resume());
  const giveUp = () => MqttClient.prototype.onKeepaliveTimeout.call(client);
  // The answer to a ping comes behind all that the broker has sent before, which may take longer than mqtt.js waits: half a keepalive.
  client.onKeepaliveTimeout = () => {
    // What has come, and waits for this turn, is read first.
    setImmediate(() => {
      if (client.connected && performance.now() - readAt < client.keepalive * 500) {
        client.sendPing();
        client.reschedulePing(true);
      } else giveUp();
    });
  };
  return {
    client,
    pause: () => reading.pause(),
    resume: () => reading.resume(),
    discard: () => reading.discard(),
  };
}
