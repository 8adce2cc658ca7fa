import type { BrokerSession, Stop } from '../mqtt/broker-session.ts';
import type { ControlApi, ControlCommand, ControlEvent } from './envelope.ts';

/**
 * One control API served by us: beside a remote broker by this gateway, or inside the embedded broker. A plugin knows the
 * session it was given and nothing of GraphQL, REST, the database or where it runs.
 */
export interface ControlPlugin {
  readonly api: ControlApi;
  /**
   * Runs one command and answers its `data` (undefined: none). A refusal is a thrown ControlRefusal whose message is the
   * envelope's `error` text; anything else thrown is a bug and answered "Internal error".
   */
  execute(command: ControlCommand): unknown | Promise<unknown>;
  close(): void | Promise<void>;
}

/** A command was understood and refused; the message is the envelope's `error`. */
export class ControlRefusal extends Error {
  override readonly name = 'ControlRefusal';
}

export interface PluginHost {
  readonly session: BrokerSession;
  /** Tells an event of this plugin's API to whoever listens. */
  emit(event: ControlEvent): void;
  /** All control APIs of the same broker, whoever serves them. Not to be called for the plugin's own API. */
  readonly controls?: ControlCaller;
}

/** Makes a plugin for one broker, or says why it cannot work there and what the operator would have to configure. */
export interface PluginFactory {
  readonly api: ControlApi;
  create(host: PluginHost): Promise<ControlPlugin | { readonly unavailable: string }>;
}

/** Who answers a control API of a broker. */
export type ControlProvider = 'BROKER' | 'GATEWAY' | 'NONE';

export interface ControlCapability {
  readonly api: ControlApi;
  readonly provider: ControlProvider;
  /** Epoch milliseconds since when this is known. */
  readonly since: number;
  /** For NONE: what the operator would have to configure. */
  readonly reason?: string;
}

/** What callers of control APIs hold: one broker's APIs, whoever serves them. */
export interface ControlCaller {
  /**
   * Errors: NOT_SUPPORTED_BY_BROKER (nobody serves the API; `info.reason`), NOT_ALLOWED, BROKER_UNREACHABLE,
   * BROKER_TIMEOUT, NOT_FOUND / ALREADY_EXISTS / INVALID / BROKER_REJECTED by the refusal's text (`info.brokerError`).
   */
  call<T = unknown>(api: ControlApi, command: string, fields?: Readonly<Record<string, unknown>>): Promise<T>;
  /** Events of an API, whoever serves it. Silent where the provider has none. */
  onEvent(api: ControlApi, listener: (event: ControlEvent) => void): Stop;
  /** Resolved lazily and remembered for the connection. */
  capability(api: ControlApi): Promise<ControlCapability>;
}
