import type { Duplex } from 'node:stream';
import { MqttClient } from 'mqtt';
import type { ConnectOptions } from './connect-options.ts';
import { openStream } from './open-stream.ts';
import { MalformedPacket } from './packet-properties.ts';
import { LARGEST_PACKET, type PacketListener, PacketReader } from './packet-reader.ts';

export interface SplitClient {
  readonly client: MqttClient;
  /** Nothing more is told or taken from the broker until `resume`. */
  pause(): void;
  /** Goes on with the end of what runs now. */
  resume(): void;
  /** What comes is thrown away, so that the end of the connection is seen. */
  discard(): void;
}

/** Type of packet. */
const CONNACK = 2;

/**
 * A client of mqtt.js that reads only the packets that are not of publishing: the others, the many ones of a connection, are told to
 * `listener`, each in its turn among all packets. Writing and the end of the connection are between the client and the socket as ever.
 * What cannot be read destroys the socket with an error.
 *
 * Errors: a certificate or key that OpenSSL cannot read is thrown.
 */
export function openSplitClient(
  options: ConnectOptions,
  version: 4 | 5,
  listener: Omit<PacketListener, 'onOther'>,
): SplitClient {
  const stream = openStream(options);
  let toClient: NodeJS.WritableStream | null = null;
  let isAnswered = false;
  const reader = new PacketReader(version, options.properties?.maximumPacketSize ?? LARGEST_PACKET, {
    onPublish: (packet) => listener.onPublish(packet),
    onAnswer: (name, id, reasonCode) => {
      isAnswered = true;
      listener.onAnswer(name, id, reasonCode);
    },
    onRelease: (id) => listener.onRelease(id),
    // One packet at a time: mqtt.js has handled it when this returns.
    onOther: (packet) => {
      // But it tells later that it is connected, and messages of a resumed session come right behind.
      if ((packet[0] as number) >> 4 === CONNACK) reading.pause();
      toClient?.write(packet);
    },
  });
  let readAt = 0;
  const reading = new StreamReading(stream, reader, () => {
    readAt = performance.now();
    // What was answered was sent: a ping would tell neither side anything.
    if (isAnswered) client.reschedulePing();
    isAnswered = false;
  });
  // The only way in which mqtt.js reads.
  stream.pipe = (destination) => {
    toClient = destination;
    reading.start();
    return destination;
  };
  const client = new MqttClient(() => stream, options);
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

class StreamReading {
  readonly #stream: Duplex;
  readonly #reader: PacketReader;
  readonly #onRead: () => void;
  #isPaused = false;
  #isDiscarding = false;

  constructor(stream: Duplex, reader: PacketReader, onRead: () => void) {
    this.#stream = stream;
    this.#reader = reader;
    this.#onRead = onRead;
  }

  start(): void {
    this.#stream.on('data', (chunk: Buffer) => this.#attempt(() => this.#reader.read(chunk)));
    // The stream of a WebSocket is not over with its end.
    this.#stream.once('end', () => this.#stream.destroy());
  }

  pause(): void {
    this.#isPaused = true;
    this.#reader.pause();
    this.#stream.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    // Who resumes is in the middle of something, and wants no message there.
    queueMicrotask(() => {
      if (this.#isPaused) return;
      this.#attempt(() => this.#reader.resume());
      if (!this.#isPaused) this.#stream.resume();
    });
  }

  discard(): void {
    this.#isPaused = false;
    this.#isDiscarding = true;
    // A packet may be the reason for it: nothing is told after that one.
    this.#reader.pause();
    this.#stream.resume();
  }

  #attempt(read: () => void): void {
    if (this.#isDiscarding) return;
    try {
      read();
      this.#onRead();
    } catch (error) {
      if (!(error instanceof MalformedPacket)) throw error;
      this.discard();
      this.#stream.destroy(error);
    }
  }
}
