import type { ErrorCode } from '../../platform/errors.ts';
import type { BrokerSession, Stop } from '../mqtt/broker-session.ts';
import type { CapabilityReason, CapabilityReasonCode } from './capability-reason.ts';
import type { ControlApi, ControlCommand, ControlEvent } from './envelope.ts';

/**
 * One control API served by the gateway for a remote broker, or by the embedded broker. It depends on its session only.
 */
export interface ControlPlugin {
  readonly api: ControlApi;
  /** Why the plugin has stopped working after its creation. It receives no commands until this is `null`. */
  readonly problem?: CapabilityReason | null;
  /** What the plugin cannot do with this broker, and what would help; the capability's reason. */
  readonly limit?: CapabilityReason | null | undefined;
  /** Updates `problem` and `limit`. Called on a new connection, and on demand after `doubtMs`. Never rejects. */
  lookAgain?(): Promise<void>;
  /**
   * Returns the `data` of the response. The message of a ControlRefusal becomes its `error`. Any other error is a bug.
   */
  execute(command: ControlCommand): unknown | Promise<unknown>;
  close(): void | Promise<void>;
  /** The command name in responses if it differs from the request. */
  nameOf?(command: string): string | undefined;
  /** Called before the first command of a request, for long work that does not depend on the order of commands. */
  prepare?(commands: readonly ControlCommand[]): Promise<void>;
  /** Called after the last command of a request, before the response is sent. If it rejects, no response is sent. */
  settle?(): Promise<void>;
  /** Called before a response is sent. Returns a callback for when it was delivered, or delivery is late. */
  afterAnswer?(): (() => void) | null;
}

export class ControlRefusal extends Error {
  override readonly name = 'ControlRefusal';
  /** Error for callers in this process. MQTT clients receive the text only. */
  readonly detail: RefusalDetail | null;

  constructor(message: string, detail: RefusalDetail | null = null) {
    super(message);
    this.detail = detail;
  }
}

interface RefusalDetail {
  readonly code: ErrorCode;
  readonly info?: Readonly<Record<string, unknown>>;
}

export interface PluginHost {
  readonly session: BrokerSession;
  emit(event: ControlEvent): void;
  /** Whether events have listeners; without listeners plugins may skip expensive events. Default: true. */
  isHeard?(): boolean;
  /** All control APIs of the same broker. Must not be called for the plugin's own API. */
  readonly controls?: ControlCaller;
}

export interface Unavailable {
  readonly unavailable: CapabilityReason;
  /** Whether a permission is missing, which is detected immediately and may be granted at any time. */
  readonly refused?: boolean;
  /** Whether the reason may be temporary, although a retry takes seconds. */
  readonly mayPass?: boolean;
}

export interface PluginFactory {
  readonly api: ControlApi;
  create(host: PluginHost): Promise<ControlPlugin | Unavailable>;
  /**
   * Starts a plugin that must not miss events while the broker is being probed for the API. Called before the first
   * probe of a connection, unless a plugin of an earlier connection is still running.
   */
  begin?(host: PluginHost): BegunPlugin;
  /** Whether the plugin also replaces the broker's API, for example of several brokers behind one address. */
  readonly instead?: boolean;
  /** Whether this service stores data that callers may read and change while the broker is unreachable. */
  isKept?(): boolean;
}

/** A started plugin that may turn out to be unnecessary. It sends no events before `finish`. */
export interface BegunPlugin {
  finish(): Promise<ControlPlugin | Unavailable>;
  /** Called if the broker serves the API, or at shutdown. Also closes the plugin of `finish`. */
  close(): void | Promise<void>;
}

export type ControlProvider = 'BROKER' | 'GATEWAY' | 'NONE';

export interface ControlCapability {
  readonly api: ControlApi;
  readonly provider: ControlProvider;
  /** Epoch milliseconds. */
  readonly since: number;
  /** For NONE, and for GATEWAY with limits: what the operator can configure. */
  readonly reason?: string;
  /** Of `reason`. */
  readonly reasonCode?: CapabilityReasonCode;
}

export interface ControlCall {
  readonly command: string;
  readonly fields?: Readonly<Record<string, unknown>>;
}

export interface ControlCaller {
  /**
   * Errors: NOT_SUPPORTED_BY_BROKER (see `info.reason`), NOT_ALLOWED, BROKER_UNREACHABLE, BROKER_TIMEOUT, and those of
   * `refusalOf`.
   */
  call<T = unknown>(api: ControlApi, command: string, fields?: Readonly<Record<string, unknown>>): Promise<T>;
  /**
   * Sends commands in order, at most 500 kB per payload. Each is settled separately, with the errors of `call`. Never
   * rejects. The broker executes nothing else between them, and the limit on writes does not apply.
   */
  callAll(api: ControlApi, commands: readonly ControlCall[]): Promise<PromiseSettledResult<unknown>[]>;
  /**
   * Reports commands of responses that no caller waits for: of other clients, and late ones. Starts with the first
   * call. Reports nothing if a gateway plugin serves the API.
   */
  onForeignAnswers(api: ControlApi, listener: (commands: readonly string[]) => void): Stop;
  onEvent(api: ControlApi, listener: (event: ControlEvent) => void): Stop;
  capability(api: ControlApi): Promise<ControlCapability>;
}
