import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../../../platform/errors.ts';
import type { AccessDialect, AccessPolicy } from '../../../protocol/apis/access-control/access-model.ts';
import type { BrokerSession, LinkState } from '../../../protocol/mqtt/broker-session.ts';
import type { TouchedObject } from './access-plan.ts';

export interface PolicySource {
  current(): Promise<PolicyNow>;
  refresh(touched: readonly TouchedObject[]): Promise<PolicyNow>;
}

export interface PolicyNow {
  readonly policy: AccessPolicy;
  readonly dialect: AccessDialect;
}

type Session = Pick<BrokerSession, 'status' | 'onStatus'>;

const RETRY_MS = 100;

/**
 * Waits for a reconnect if necessary. Returns the error if the read failed within `withinMs`, or for another reason.
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

/** Mosquitto 2.1 and the embedded broker respond first and disconnect a moment later; commands in between are lost. */
export const watchForDisconnect = (session: Session) => watchStatus(session, (state) => state !== 'CONNECTED');

export function isOutage(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'BROKER_UNREACHABLE' || error.code === 'BROKER_TIMEOUT');
}

async function isConnectedBy(session: Session, deadline: number): Promise<boolean> {
  const left = deadline - Date.now();
  if (left <= 0) return false;
  await watchStatus(session, (state) => state === 'CONNECTED' || state === 'CLOSED')(left);
  return session.status.state === 'CONNECTED';
}

function watchStatus(session: Session, isReached: (state: LinkState) => boolean): (ms: number) => Promise<void> {
  const reached = new AbortController();
  const check = ({ state }: Session['status']) => {
    if (isReached(state)) reached.abort();
  };
  const stop = session.onStatus(check);
  return async (ms) => {
    check(session.status);
    await delay(ms, undefined, { signal: reached.signal }).catch(() => undefined);
    stop();
  };
}
