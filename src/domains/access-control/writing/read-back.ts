import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../../../platform/errors.ts';
import type { BrokerSession } from '../../../protocol/mqtt/broker-session.ts';
import type { AccessDialect, AccessPolicy } from '../policy/access-model.ts';
import type { TouchedObject } from './access-plan.ts';

/** The methods of AccessIndex that a writer uses. */
export interface PolicySource {
  current(): Promise<PolicyNow>;
  refresh(touched: readonly TouchedObject[]): Promise<PolicyNow>;
}

export interface PolicyNow {
  readonly policy: AccessPolicy;
  readonly dialect: AccessDialect;
}

type Session = Pick<BrokerSession, 'status' | 'onStatus'>;

/** Interval between attempts if the broker is connected but does not respond. */
const RETRY_MS = 100;

/**
 * Reads the objects from the broker and waits for a reconnect if necessary. Returns the error if the read did not
 * succeed within `withinMs`, or if it failed for another reason than the connection.
 */
export async function readBack(
  source: PolicySource,
  session: Session,
  touched: readonly TouchedObject[],
  withinMs: number,
): Promise<PolicyNow | { readonly error: unknown }> {
  const deadline = Date.now() + withinMs;
  let last: unknown = new ServiceError('BROKER_UNREACHABLE', 'The broker did not reconnect in time');
  while (await isConnectedBy(session, deadline)) {
    try {
      return await source.refresh(touched);
    } catch (error) {
      last = error;
      if (!isOutage(error)) break;
    }
    // Commands fail a moment before the session reports the lost connection.
    await delay(Math.max(0, Math.min(RETRY_MS, deadline - Date.now())));
  }
  return { error: last };
}

/**
 * Starts to watch for a lost connection and returns a function that waits for it, at most `ms`. Mosquitto 2.1 and the
 * embedded broker respond first and disconnect a moment later; commands sent in between would be lost.
 */
export function watchForDisconnect(session: Session): (ms: number) => Promise<void> {
  let finish = () => {};
  const disconnected = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const stop = session.onStatus(({ state }) => {
    if (state !== 'CONNECTED') finish();
  });
  return async (ms) => {
    if (session.status.state !== 'CONNECTED') finish();
    const timer = setTimeout(finish, ms);
    await disconnected;
    clearTimeout(timer);
    stop();
  };
}

export function isOutage(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'BROKER_UNREACHABLE' || error.code === 'BROKER_TIMEOUT');
}

/** Whether the session connects before `deadline` (epoch milliseconds) and is not closed permanently. */
function isConnectedBy(session: Session, deadline: number): Promise<boolean> {
  const left = deadline - Date.now();
  const { state } = session.status;
  if (left <= 0 || state === 'CLOSED') return Promise.resolve(false);
  if (state === 'CONNECTED') return Promise.resolve(true);
  return new Promise((resolve) => {
    const finish = (isConnected: boolean) => {
      clearTimeout(timer);
      stop();
      resolve(isConnected);
    };
    const timer = setTimeout(() => finish(false), left);
    const stop = session.onStatus((status) => {
      if (status.state === 'CONNECTED' || status.state === 'CLOSED') finish(status.state === 'CONNECTED');
    });
  });
}
