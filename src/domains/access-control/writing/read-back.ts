import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../../../platform/errors.ts';
import type { BrokerSession } from '../../../protocol/mqtt/broker-session.ts';
import type { AccessDialect, AccessPolicy } from '../policy/access-model.ts';
import type { TouchedObject } from './access-plan.ts';

/** What a writer needs of an AccessIndex. */
export interface PolicySource {
  current(): Promise<PolicyNow>;
  refresh(touched: readonly TouchedObject[]): Promise<PolicyNow>;
}

export interface PolicyNow {
  readonly policy: AccessPolicy;
  readonly dialect: AccessDialect;
}

type Session = Pick<BrokerSession, 'status' | 'onStatus'>;

/** Between attempts (ms), where the connection is up and the broker does not answer all the same. */
const PAUSE_MS = 100;

/**
 * Reads the objects as the broker has them, waiting for the connection to come back. An error instead of an answer: it was not
 * possible within `withinMs`, or it is not for a lack of connection.
 */
export async function readBack(
  source: PolicySource,
  session: Session,
  touched: readonly TouchedObject[],
  withinMs: number,
): Promise<PolicyNow | { readonly error: unknown }> {
  const deadline = Date.now() + withinMs;
  let last: unknown = new ServiceError('BROKER_UNREACHABLE', 'The broker did not come back in time');
  while (await isConnectedBy(session, deadline)) {
    try {
      return await source.refresh(touched);
    } catch (error) {
      last = error;
      if (!isOutage(error)) break;
    }
    // The loss of the connection is told a moment after what it does to commands.
    await delay(Math.max(0, Math.min(PAUSE_MS, deadline - Date.now())));
  }
  return { error: last };
}

/**
 * Listens from now on for the loss of the connection; the answer waits for it, `ms` at most. Mosquitto 2.1 and the embedded
 * broker answer first and disconnect a moment later: what is sent in that moment would be lost.
 */
export function awaitLoss(session: Session): (ms: number) => Promise<void> {
  let told = () => {};
  const loss = new Promise<void>((resolve) => {
    told = resolve;
  });
  const stop = session.onStatus(({ state }) => {
    if (state !== 'CONNECTED') told();
  });
  return async (ms) => {
    if (session.status.state !== 'CONNECTED') told();
    const timer = setTimeout(told, ms);
    await loss;
    clearTimeout(timer);
    stop();
  };
}

export function isOutage(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'BROKER_UNREACHABLE' || error.code === 'BROKER_TIMEOUT');
}

/** False: closed for good, or not connected until `deadline` (epoch milliseconds). */
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
