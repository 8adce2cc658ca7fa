import { ServiceError } from '../../platform/errors.ts';
import type { BrokerSession, LinkStatus } from './broker-session.ts';

export function unreachable({ state, lastError }: LinkStatus): ServiceError {
  const reason = lastError ?? (state === 'CLOSED' ? 'The link to the broker was closed' : 'Not connected yet');
  return new ServiceError('BROKER_UNREACHABLE', reason, { info: { state } });
}

/** Waits at most `timeoutMs` for the first attempt. In every other state it fails with BROKER_UNREACHABLE. */
export async function whenConnected(session: BrokerSession, timeoutMs: number): Promise<void> {
  if (session.status.state === 'CONNECTED') return;
  if (session.status.state !== 'CONNECTING') throw unreachable(session.status);
  await new Promise<void>((resolve, reject) => {
    const finish = (status: LinkStatus) => {
      clearTimeout(timer);
      stop();
      if (status.state === 'CONNECTED') resolve();
      else reject(unreachable(status));
    };
    const timer = setTimeout(() => finish(session.status), timeoutMs);
    const stop = session.onStatus((status) => {
      if (status.state !== 'CONNECTING') finish(status);
    });
  });
}
