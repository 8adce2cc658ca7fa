import type { ErrorCode } from '../../platform/errors.ts';
import type { BrokerSession, Stop } from '../mqtt/broker-session.ts';
import type { ControlApi, ControlCommand, ControlEvent } from './envelope.ts';

/**
 * One control API served by us: beside a remote broker by this gateway, or inside the embedded broker. A plugin knows the
 * session it was given and nothing of GraphQL, REST, the database or where it runs.
 */
export interface ControlPlugin {
  readonly api: ControlApi;
  /**
   * Why it can serve nothing now although it could when it was made: a reason as `unavailable` is. Meanwhile it counts as not
   * there and is not asked.
   */
  readonly problem?: string | null;
  /** What it cannot do with this broker, and what would help: it serves the rest. Told as the capability's reason; null: nothing. */
  readonly limit?: string | null;
  /** Finds out whether `problem` or `limit` has passed; somebody has asked for it after a while, or on a new connection. Never rejects. */
  lookAgain?(): Promise<void>;
  /**
   * Runs one command and answers its `data` (undefined: none). A refusal is a thrown ControlRefusal whose message is the
   * envelope's `error` text; anything else thrown is a bug and answered "Internal error".
   */
  execute(command: ControlCommand): unknown | Promise<unknown>;
  close(): void | Promise<void>;
  /** The name that answers to a command carry, where it is not the one that was sent. */
  nameOf?(command: string): string | undefined;
  /** Before the first command of a request runs: what takes long and does not depend on their order. */
  prepare?(commands: readonly ControlCommand[]): Promise<void>;
  /** After the last command of a request, before its answer leaves. Rejected: nothing is answered. */
  settle?(): Promise<void>;
  /** Asked for before the answer leaves: what is to be done once it was delivered, or will not be soon. */
  afterAnswer?(): (() => void) | null;
}

/** A command was understood and refused; the message is the envelope's `error`. */
export class ControlRefusal extends Error {
  override readonly name = 'ControlRefusal';
  /** What a caller in this process gets instead of what the text alone would mean; over MQTT there is only the text. */
  readonly detail: RefusalDetail | null;

  constructor(message: string, detail: RefusalDetail | null = null) {
    super(message);
    this.detail = detail;
  }
}

export interface RefusalDetail {
  readonly code: ErrorCode;
  readonly info?: Readonly<Record<string, unknown>>;
}

export interface PluginHost {
  readonly session: BrokerSession;
  /** Tells an event of this plugin's API to whoever listens. */
  emit(event: ControlEvent): void;
  /** Somebody listens now: what costs much to tell need not be told otherwise. Absent: as if. */
  isHeard?(): boolean;
  /** All control APIs of the same broker, whoever serves them. Not to be called for the plugin's own API. */
  readonly controls?: ControlCaller;
}

/** Why a plugin cannot work with a broker, and what the operator would have to configure. */
export interface Unavailable {
  readonly unavailable: string;
  /** The broker refused what the plugin needs: found out at once, and rights may be granted at any time. */
  readonly refused?: boolean;
  /** It may have been a bad moment, but finding out takes its time. */
  readonly mayPass?: boolean;
}

/** Makes a plugin for one broker, or says why it cannot work there. */
export interface PluginFactory {
  readonly api: ControlApi;
  create(host: PluginHost): Promise<ControlPlugin | Unavailable>;
  /**
   * For a plugin that must not miss what happens while the broker is still asked whether it serves the API itself. Called as a
   * connection begins, before anything else is asked there, unless what was begun or made on an earlier one lives.
   */
  begin?(host: PluginHost): BegunPlugin;
  /** It serves the API whatever the broker itself does, which is not asked: there are several brokers behind the one that is reached. */
  readonly instead?: boolean;
  /** Something is kept here for the broker that is to be told, and changed, also before the broker has been asked at all: it is away. */
  isKept?(): boolean;
}

/** What follows a broker already, and may turn out to be needless. It tells no events until it is finished. */
export interface BegunPlugin {
  /** The broker does not serve the API: as PluginFactory.create. At most once. */
  finish(): Promise<ControlPlugin | Unavailable>;
  /** The broker does, or nobody is left to ask. Ends the plugin that came of it, too. */
  close(): void | Promise<void>;
}

/** Who answers a control API of a broker. */
export type ControlProvider = 'BROKER' | 'GATEWAY' | 'NONE';

export interface ControlCapability {
  readonly api: ControlApi;
  readonly provider: ControlProvider;
  /** Epoch milliseconds since when this is known. */
  readonly since: number;
  /** For NONE, and where GATEWAY serves only a part: what the operator would have to configure. */
  readonly reason?: string;
}

/** A command to be sent: its name, and the fields beside it in the envelope. */
export interface ControlCall {
  readonly command: string;
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** What callers of control APIs hold: one broker's APIs, whoever serves them. */
export interface ControlCaller {
  /**
   * Errors: NOT_SUPPORTED_BY_BROKER (nobody serves the API; `info.reason`), NOT_ALLOWED, BROKER_UNREACHABLE,
   * BROKER_TIMEOUT, NOT_FOUND / ALREADY_EXISTS / INVALID / BROKER_REJECTED by the refusal's text (`info.brokerError`).
   */
  call<T = unknown>(api: ControlApi, command: string, fields?: Readonly<Record<string, unknown>>): Promise<T>;
  /**
   * The commands in one payload where they fit (500 kB, else in several), in their order; each is settled by itself, with the
   * errors of `call`. Never rejects. A group is neither mixed with other commands nor split by the bound on writes, and the
   * broker does nothing else between its commands. A hosted plugin executes them one after the other.
   */
  callAll(
    api: ControlApi,
    commands: readonly ControlCall[],
    options?: { readonly timeoutMs?: number },
  ): Promise<PromiseSettledResult<unknown>[]>;
  /**
   * Tells the commands of answers on the response topic that nobody here waits for: other administrators', and own ones that
   * were answered too late. Known from the first call on. Silent where a plugin of ours serves the API.
   */
  onForeignAnswers(api: ControlApi, listener: (commands: readonly string[]) => void): Stop;
  /** Events of an API, whoever serves it. Silent where the provider has none. */
  onEvent(api: ControlApi, listener: (event: ControlEvent) => void): Stop;
  /** Resolved lazily and remembered for the connection. */
  capability(api: ControlApi): Promise<ControlCapability>;
}
