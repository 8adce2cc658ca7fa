import { ServiceError } from '../../platform/errors.ts';
import type { BrokerSession, LinkStatus } from './broker-session.ts';
import { withoutReachability } from './link-failure.ts';

/** Why a link is not connected, for every caller: errors and reports without a caller to check use it. */
export const awayReason = (status: LinkStatus, fallback = 'Not connected yet'): string =>
  withoutReachability(status).lastError ?? fallback;

/** The error for every caller. `cause` is the reason for operators of the service. */
export function unreachable(status: LinkStatus): ServiceError {
  const { state } = status;
  const reason = awayReason(status, state === 'CLOSED' ? 'The link to the broker was closed' : undefined);
  return new ServiceError('BROKER_UNREACHABLE', reason, { info: { state }, cause: status.lastError });
}

/** A lost connection is usually back within this time, such as one whose client id another client took over. */
const JUST_LOST_MS = 2_000;

/**
 * Waits at most `timeoutMs` for the first attempt, and for a connection that was just lost until JUST_LOST_MS after its
 * loss. Otherwise it fails immediately with BROKER_UNREACHABLE.
 */
export async function whenConnected(session: BrokerSession, timeoutMs: number): Promise<void> {
  const { state, since, wasConnected } = session.status;
  if (state === 'CONNECTED') return;
  const leftMs = state === 'UNREACHABLE' && wasConnected ? Date.parse(since) + JUST_LOST_MS - Date.now() : 0;
  if (state !== 'CONNECTING' && leftMs <= 0) throw unreachable(session.status);
  const waitMs = state === 'CONNECTING' ? timeoutMs : Math.min(timeoutMs, leftMs);
  await new Promise<void>((resolve, reject) => {
    const finish = (status: LinkStatus) => {
      clearTimeout(timer);
      stop();
      if (status.state === 'CONNECTED') resolve();
      else reject(unreachable(status));
    };
    const timer = setTimeout(() => finish(session.status), waitMs);
    const stop = session.onStatus((status) => {
      if (status.state !== 'CONNECTING') finish(status);
    });
  });
}
