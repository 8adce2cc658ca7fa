import { ServiceError } from '../../../platform/errors.ts';
import type { CapabilityReason } from '../../../protocol/control/capability-reason.ts';
import { LOG_TOPIC } from '../../../protocol/mosquitto-log/log-reader.ts';
import type { BrokerSession } from '../../../protocol/mqtt/broker-session.ts';

export const NO_LOG: CapabilityReason = {
  code: 'LOG_MISSING',
  text: 'The broker has no log that this service can follow',
};
const NO_LOG_LINES: CapabilityReason = {
  code: 'LOG_NOT_PUBLISHED',
  text: 'The broker does not publish its log over MQTT, so connected clients cannot be followed: set `log_dest topic`, `log_type notice`, `log_type subscribe` and `log_type unsubscribe` in mosquitto.conf',
};
export const NO_CONNECTIONS: CapabilityReason = {
  code: 'LOG_WITHOUT_CONNECTIONS',
  text: 'The broker publishes its log over MQTT without connections: set `log_type notice` and `connection_messages true` in mosquitto.conf',
};
export const DENIED: CapabilityReason = {
  code: 'LOG_PERMISSION_MISSING',
  text: `The broker does not allow this service to read its log: its user needs permission to subscribe to ${LOG_TOPIC}# and to receive there (subscribePattern and publishClientReceive in dynamic security)`,
};

/**
 * Verifies that a broker publishes connects in its log, for which MQTT has no request: opens and closes a second
 * connection (`knock`) and waits for its log line. Log lines of our own SUBSCRIBE packets prove less, because `log_type
 * subscribe` and `log_type notice` are independent.
 */
export class LogVerification {
  readonly #session: BrokerSession;
  readonly #lineTimeoutMs: number;
  readonly #onGranted: () => void;
  #hasLogLine = false;
  #onConnectLine: (() => void) | null = null;
  /** The current verification. The result of an earlier one, perhaps on an earlier connection, is ignored. */
  #current: Promise<void> | null = null;
  /** Why clients cannot be followed any more. `null` again with the next log line of a connection. */
  problem: CapabilityReason | null = null;

  /** @param onGranted called when the broker has granted the subscription to the log, if it did not before */
  constructor(session: BrokerSession, lineTimeoutMs: number, onGranted: () => void = () => undefined) {
    this.#session = session;
    this.#onGranted = onGranted;
    this.#lineTimeoutMs = lineTimeoutMs;
  }

  lineReceived(): void {
    this.#hasLogLine = true;
  }

  /** Returns whether this line solves `problem`. */
  connectionLogged(): boolean {
    this.#onConnectLine?.();
    const isSolved = this.problem !== null;
    this.problem = null;
    return isSolved;
  }

  /** Call when following restarts. */
  reset(): void {
    this.#hasLogLine = false;
  }

  close(): void {
    this.#onConnectLine?.();
  }

  /** Returns the problem. Requires that the broker has granted the subscription on this connection. */
  async verify(): Promise<CapabilityReason | null> {
    let timer: NodeJS.Timeout | undefined;
    let onLine: (() => void) | null = null;
    const hasConnectLine = new Promise<boolean>((resolve) => {
      onLine = () => resolve(true);
      timer = setTimeout(() => resolve(false), this.#lineTimeoutMs);
    });
    this.#onConnectLine = onLine;
    try {
      await this.#session.knock?.();
      if (await hasConnectLine) return null;
      return this.#hasLogLine ? NO_CONNECTIONS : NO_LOG_LINES;
    } catch (error) {
      // A user that is bound to one client id cannot open a second connection; the lines of our subscriptions must
      // suffice.
      if (!(error instanceof ServiceError) || this.#session.status.state !== 'CONNECTED') throw error;
      return this.#hasLogLine ? null : NO_LOG_LINES;
    } finally {
      clearTimeout(timer);
      if (this.#onConnectLine === onLine) this.#onConnectLine = null;
    }
  }

  /** Sets `problem`. Shares the current verification. Never rejects. */
  update(): Promise<void> {
    return this.#current ?? this.restart();
  }

  /** As `update`, on a new connection. */
  restart(): Promise<void> {
    const current = this.#problemNow()
      .then((problem) => {
        if (this.#current === current) this.problem = problem;
      })
      // The link is down again; the next connection verifies.
      .catch(() => undefined)
      .finally(() => {
        if (this.#current === current) this.#current = null;
      });
    this.#current = current;
    return current;
  }

  async #problemNow(): Promise<CapabilityReason | null> {
    try {
      // Resolves when the broker has granted our subscription to the log on this connection.
      const stop = await this.#session.subscribe(`${LOG_TOPIC}#`, () => undefined, { qos: 1 });
      stop();
      this.#onGranted();
      return await this.verify();
    } catch (error) {
      if (isDenied(error)) return DENIED;
      throw error;
    }
  }
}

export const isDenied = (error: unknown) => error instanceof ServiceError && error.code === 'NOT_ALLOWED';
