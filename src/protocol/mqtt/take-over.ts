import type { Duplex } from 'node:stream';
import {
  generate,
  type IConnackPacket,
  type ISubackPacket,
  type IUnsubackPacket,
  type Packet,
  parser,
} from 'mqtt-packet';
import { ServiceError } from '../../platform/errors.ts';
import type { SessionAction, TakenSession } from './broker-session.ts';
import { type BrokerAddress, type ConnectOptions, connectOptions } from './connect-options.ts';
import { type Intake, newIntake } from './intake.ts';
import { disconnected, failureOf, refusedConnect } from './link-failure.ts';
import { OBSERVER_LIMITS } from './packet-limits.ts';
import { PacketStream } from './packet-stream.ts';
import { subscribeRefusal, unsubscribeRefusal } from './refused-packet.ts';

/**
 * Connects with the client id of another client for a moment: the broker ends that client's connection and hands its session to us
 * (MQTT 3.1.4-3, 4.1). What is done then is done to its session, which it finds so when it comes back.
 *
 * Clean start is off and the session is asked to stay for ever, because how long it was to stay cannot be read; it is as long as
 * the client wants again as soon as the client is back. Nothing that arrives is acknowledged: messages of QoS 1 and 2 stay the
 * client's and are sent to it again. Messages of QoS 0 that come meanwhile are lost, and so are queued ones that our user may not
 * receive (Mosquitto checks them for whoever takes the session). When there is no session it is over at once, with the empty
 * one that the broker has made for us. Never tries again by itself.
 *
 * Errors: NOT_ALLOWED, BROKER_REJECTED (the broker refused the connection, or the filter: `info` is { username, topic }); BROKER_UNREACHABLE, BROKER_TIMEOUT,
 * with `info.outcome` 'unknown' once the session was ours.
 */
export interface TakeOverOptions {
  readonly address: BrokerAddress;
  readonly version: 4 | 5;
  readonly clientId: string;
  /** Longest wait for all of it. */
  readonly timeoutMs: number;
  /** Default: its own. */
  readonly intake?: Intake;
}

/** Seconds. A value that nobody else is likely to use, so that a broker's log shows whose connection it was. */
export const TAKE_OVER_KEEPALIVE = 29;
/** MQTT 5, 3.1.2.11.2: the session does not expire. */
const NEVER = 0xffffffff;
const GRACE_MS = 500;
const ONLY_PACKET_ID = 1;

export async function takeOver(options: TakeOverOptions, action: SessionAction): Promise<TakenSession> {
  const { address, version, clientId } = options;
  const { username, password, ...where } = connectOptions(address);
  const connection = new RawConnection(where, options);
  let isOurs = false;
  try {
    connection.send({
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: version,
      clean: false,
      clientId,
      keepalive: TAKE_OVER_KEEPALIVE,
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password: Buffer.from(password) }),
      ...(version === 5 ? { properties: { sessionExpiryInterval: NEVER } } : {}),
    });
    const connack = (await connection.next('connack')) as IConnackPacket;
    const code = connack.reasonCode ?? connack.returnCode ?? 0;
    if (code !== 0) throw refused(code);
    const { sessionPresent } = connack;
    isOurs = sessionPresent;
    if (sessionPresent) await act(connection, action).catch((error) => explain(error, action, username));
    const ended = version === 5 && !sessionPresent ? { properties: { sessionExpiryInterval: 0 } } : {};
    connection.send({ cmd: 'disconnect', ...(version === 5 ? { reasonCode: 0 } : {}), ...ended });
    return { sessionPresent };
  } catch (error) {
    // Without it the broker would take us for a client that broke down, and keep the session waiting for our keepalive.
    if (isOurs) connection.send({ cmd: 'disconnect', ...(version === 5 ? { reasonCode: 0 } : {}) });
    if (!isOurs || !(error instanceof ServiceError) || error.status !== 503) throw error;
    throw new ServiceError(error.code, error.message, { info: { ...error.info, outcome: 'unknown' }, cause: error });
  } finally {
    await connection.close();
  }
}

async function act(connection: RawConnection, action: SessionAction): Promise<void> {
  if (action.kind === 'DISCONNECT') return;
  if (action.kind === 'UNSUBSCRIBE') {
    connection.send({ cmd: 'unsubscribe', messageId: ONLY_PACKET_ID, unsubscriptions: [action.filter] });
    // MQTT 5 alone says whether it was done.
    const { granted } = (await connection.next('unsuback')) as Partial<IUnsubackPacket>;
    const code = Number(granted?.[0] ?? 0);
    if (code >= 0x80) throw unsubscribeRefusal(code);
    return;
  }
  const { filter, qos, noLocal = false, retainAsPublished = false, retainHandling = 2, identifier } = action;
  connection.send({
    cmd: 'subscribe',
    messageId: ONLY_PACKET_ID,
    subscriptions: [{ topic: filter, qos, nl: noLocal, rap: retainAsPublished, rh: retainHandling }],
    ...(identifier === undefined ? {} : { properties: { subscriptionIdentifier: identifier } }),
  });
  const packet = (await connection.next('suback')) as ISubackPacket;
  if (Number(packet.granted[0]) >= 0x80) throw subscribeRefusal(Object.assign(new Error('refused'), { packet }));
}

/** The broker asks for our user's right, not for the client's. */
function explain(error: unknown, action: SessionAction, username: string | undefined): never {
  if (action.kind === 'DISCONNECT' || !(error instanceof ServiceError) || error.code !== 'NOT_ALLOWED') throw error;
  const { kind, filter: topic } = action;
  const who = username === undefined ? 'clients without a user name, as this service is,' : `the user "${username}"`;
  const [what, right] =
    kind === 'SUBSCRIBE' ? ['subscribe to', 'subscribePattern'] : ['unsubscribe from', 'unsubscribePattern'];
  const message =
    `The broker does not let ${who} ${what} "${topic}": this service connects so, in place of the client, ` +
    `and needs that right itself (dynamic security: ${right})`;
  throw new ServiceError('NOT_ALLOWED', message, { info: { username: username ?? null, topic }, cause: error });
}

function refused(code: number): ServiceError {
  const { state, text } = refusedConnect(code);
  return new ServiceError(
    state === 'UNAUTHORISED' ? 'NOT_ALLOWED' : 'BROKER_REJECTED',
    `The session cannot be taken over: ${text}`,
  );
}

/** Packets on a stream, with no client behind them: only what is asked for is sent. One packet is waited for at a time. */
class RawConnection {
  readonly #stream: Duplex;
  readonly #version: 4 | 5;
  readonly #timer: NodeJS.Timeout;
  #failure: ServiceError | null = null;
  #waiting: { readonly cmd: Packet['cmd']; resolve(packet: Packet): void; reject(error: ServiceError): void } | null =
    null;

  constructor(where: ConnectOptions, { version, timeoutMs, intake = newIntake() }: TakeOverOptions) {
    this.#version = version;
    this.#timer = setTimeout(
      () => this.#fail(new ServiceError('BROKER_TIMEOUT', `The broker did not answer in ${timeoutMs} ms`)),
      timeoutMs,
    );
    const incoming = parser({ protocolVersion: version });
    incoming.on('packet', (packet: Packet) => this.#received(packet));
    incoming.on('error', (error: unknown) => this.#fail(unreachable(failureOf(error).text)));
    // Messages of the session, of any size, stay unread: they are the client's.
    const reading = new PacketStream(
      where,
      { version, limits: OBSERVER_LIMITS, skipsLarge: true, intake },
      {
        onPublish: () => undefined,
        onAnswer: () => undefined,
        onRelease: () => undefined,
        onOther: (packet) => incoming.parse(packet),
      },
    );
    const { stream } = reading;
    this.#stream = stream;
    reading.start();
    stream.on('error', (error) => this.#fail(unreachable(failureOf(error).text)));
    stream.on('close', () => this.#fail(unreachable(disconnected(undefined).text)));
  }

  send(packet: Packet): void {
    if (!this.#stream.writable) return;
    this.#stream.write(generate(packet, { protocolVersion: this.#version }));
  }

  next(cmd: Packet['cmd']): Promise<Packet> {
    return new Promise((resolve, reject) => {
      if (this.#failure) reject(this.#failure);
      else this.#waiting = { cmd, resolve, reject };
    });
  }

  /** Resolves when the broker has closed, or soon. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    const stream = this.#stream;
    if (stream.destroyed) return;
    const timer = setTimeout(() => stream.destroy(), GRACE_MS);
    await new Promise<void>((resolve) => {
      stream.once('close', () => resolve());
      stream.end();
    });
    clearTimeout(timer);
  }

  #received(packet: Packet): void {
    if (packet.cmd === 'disconnect') this.#fail(unreachable(disconnected(packet.reasonCode).text));
    const waiting = this.#waiting;
    if (waiting === null || packet.cmd !== waiting.cmd) return;
    // An answer to something that was not asked.
    if (packet.cmd !== 'connack' && packet.messageId !== ONLY_PACKET_ID) return;
    this.#waiting = null;
    waiting.resolve(packet);
  }

  #fail(error: ServiceError): void {
    this.#failure ??= error;
    this.#waiting?.reject(this.#failure);
    this.#waiting = null;
  }
}

const unreachable = (text: string) => new ServiceError('BROKER_UNREACHABLE', text);
