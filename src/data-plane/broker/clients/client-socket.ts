import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { ClientTls } from '../../../protocol/apis/clients/inspect-data.ts';

/** The stream of a connection: its bytes, what waits for the client, and its end. */
export abstract class ClientSocket {
  readonly #stream: Duplex;
  readonly #socket: Socket;
  #hasTcpKeepAlive = false;
  #drainTimeoutMs = 0;
  #drain: Drain | null = null;
  #isEnding = false;
  #isClosing = false;

  /** `socket` is below TLS and WebSocket. */
  constructor(stream: Duplex, socket: Socket) {
    this.#stream = stream;
    this.#socket = socket;
  }

  protected listen(drainTimeoutMs: number): void {
    const stream = this.#stream;
    this.#drainTimeoutMs = drainTimeoutMs;
    Object.assign(stream, { clientSocket: this });
    stream.setMaxListeners(0);
    stream.on('readable', onReadable);
    stream.on('error', onEnd);
    stream.on('end', onEnd);
    stream.on('close', onClose);
  }

  /** Bytes have arrived. */
  abstract arrived(): void;
  /** The connection is being closed. Called once. */
  protected abstract closing(): void;
  /** The stream is closed. */
  abstract ended(): void;

  /** Whether `close` was called. */
  get isClosing(): boolean {
    return this.#isClosing;
  }

  get readableLength(): number {
    return this.#stream.readableLength;
  }

  /** With a size, because Node 26 returns only the first buffer without one. */
  read(bytes: number): Buffer | null {
    return this.#stream.read(bytes) as Buffer | null;
  }

  /** Bytes that are read again later. */
  unshift(bytes: Buffer): void {
    this.#stream.unshift(bytes);
  }

  /** Empty if it is first read after the connection was closed. The first read is a system call. */
  get address(): string {
    return (this.#socket.remoteAddress ?? '').replace(/^::ffff:(?=\d)/, '');
  }

  /** Makes the address known after the connection was closed. */
  rememberAddress(): void {
    void this.#socket.remoteAddress;
  }

  get remotePort(): number {
    return this.#socket.remotePort ?? 0;
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  get bytesWritten(): number {
    return this.#socket.bytesWritten;
  }

  /** Bytes that the client has not taken yet, with the memory of each chunk. */
  get unsentBytes(): number {
    const { writableLength } = this.#stream;
    if (writableLength === 0) return 0;
    const state = (this.#stream as { _writableState?: { bufferedRequestCount?: number } })._writableState;
    return writableLength + (state?.bufferedRequestCount ?? 0) * CHUNK_BYTES;
  }

  /** Whether the client takes what is sent to it. */
  get hasRoom(): boolean {
    return this.#stream.writableLength < MAX_UNSENT_BYTES;
  }

  /** Writes a packet, together with others of this iteration of the event loop. Returns whether there is room. */
  write(head: Buffer, payload: Buffer | null): boolean {
    const stream = this.#stream;
    // Nothing follows the last packet.
    if (this.#isEnding) return true;
    if (stream.writableCorked === 0) {
      stream.cork();
      process.nextTick(uncork, stream);
    }
    stream.write(head);
    if (payload !== null) stream.write(payload);
    return stream.writableLength < MAX_UNSENT_BYTES;
  }

  /** Calls `done` when the stream has taken what was written, or the connection is closed. */
  waitForDrain(done: () => void): void {
    if (this.isClosing) {
      setImmediate(done);
      return;
    }
    this.#drain ??= this.#startDrain();
    this.#drain.waiting.push(done);
  }

  #startDrain(): Drain {
    const listener = () => this.#endDrain();
    this.#stream.once('drain', listener);
    const timer = setTimeout(() => this.close(), this.#drainTimeoutMs);
    timer.unref();
    return { waiting: [], listener, timer };
  }

  #endDrain(): void {
    const drain = this.#drain;
    if (drain === null) return;
    this.#drain = null;
    clearTimeout(drain.timer);
    this.#stream.off('drain', drain.listener);
    for (const done of drain.waiting) setImmediate(done);
  }

  /**
   * Sends a last packet and closes the connection in the next iteration of the event loop, because closing discards
   * what is not sent. Closes it immediately without a packet, or if the client does not read. Resolves then.
   */
  protected async closeAfter(packet: Buffer | null): Promise<void> {
    const stream = this.#stream;
    // Closing discards what the stream has not tried to send yet.
    while (stream.writableCorked > 0) stream.uncork();
    if (packet === null || stream.writableNeedDrain) {
      this.close();
      return;
    }
    if (!this.#isEnding) stream.write(packet);
    this.#isEnding = true;
    await new Promise<void>((resolve) => {
      setImmediate(() => {
        this.close();
        resolve();
      });
    });
  }

  /** Closes the connection immediately. Repeated calls have no effect. */
  close(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#endDrain();
    this.closing();
    this.#stream.destroy();
  }

  whenClosed(): Promise<void> {
    return new Promise((resolve) => void this.onClosed(resolve));
  }

  onClosed(listener: () => void): () => void {
    if (this.#stream.closed) {
      listener();
      return () => {};
    }
    this.#stream.once('close', listener);
    return () => this.#stream.off('close', listener);
  }

  /** Makes the system detect that a silent peer has gone. Repeated calls have no effect. */
  enableTcpKeepAlive(): void {
    if (this.#hasTcpKeepAlive) return;
    this.#hasTcpKeepAlive = true;
    this.#socket.setKeepAlive(true, MIN_TCP_KEEP_ALIVE_MS + Math.random() * TCP_KEEP_ALIVE_SPREAD_MS);
  }

  /** `null` if the connection is not encrypted, or a proxy in front of the listener terminates TLS. */
  get tls(): ClientTls | null {
    const socket = this.#socket;
    if (!(socket instanceof TLSSocket)) return null;
    const { name, standardName } = socket.getCipher();
    const certificate = socket.getPeerX509Certificate();
    return {
      version: socket.getProtocol() ?? '',
      ciphers: standardName ?? name,
      ...(certificate ? { clientCertificate: certificate.toString() } : {}),
    };
  }

  destroy(): void {
    this.#stream.destroy();
    this.#socket.destroy();
  }
}

/** A full socket makes publishers wait for the client. Node.js reports a stream as full at 16 KiB already. */
const MAX_UNSENT_BYTES = 65_536;
/** Memory of one chunk that waits in a stream, without its bytes. */
const CHUNK_BYTES = 128;
/** Silence after which the system sends TCP keep-alive probes. */
const MIN_TCP_KEEP_ALIVE_MS = 60_000;
/** Thousands of probes at one moment overflow the receive queue of Linux, which then ends connections. */
const TCP_KEEP_ALIVE_SPREAD_MS = 60_000;

/** Callbacks that wait for a stream to take what was written. */
interface Drain {
  readonly waiting: (() => void)[];
  readonly listener: () => void;
  readonly timer: NodeJS.Timeout;
}

/** Functions of its own would be most of the memory of an idle connection. */
type OwnedStream = Duplex & { readonly clientSocket: ClientSocket };

function onReadable(this: Duplex): void {
  (this as OwnedStream).clientSocket.arrived();
}

function onEnd(this: Duplex): void {
  (this as OwnedStream).clientSocket.close();
}

function onClose(this: Duplex): void {
  (this as OwnedStream).clientSocket.ended();
}

const uncork = (stream: Duplex): void => stream.uncork();
