import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '../../../platform/errors.ts';
import { type ListenerCertificates, listCertificates } from '../../../protocol/apis/certificate-control.ts';
import { unreachable } from '../../../protocol/mqtt/when-connected.ts';
import type { BrokerRuntime } from '../../brokers/broker-runtime.ts';

export interface CertificateFile {
  readonly fileName: string;
  readonly fingerprint256: string;
  readonly isServer: boolean;
}

/** OTHER: another certificate with its file name, or another server certificate. */
type Presence = 'PRESENT' | 'OTHER' | 'ABSENT' | 'NOT_REPORTED';

export async function presenceOn(
  { controls }: BrokerRuntime,
  listenerId: number,
  { fileName, fingerprint256, isServer }: CertificateFile,
): Promise<Presence> {
  const listener = (await listCertificates(controls))?.find((entry) => entry.listenerId === listenerId);
  if (listener === undefined) return 'NOT_REPORTED';
  const found = isServer ? listener.server : authorityNamed(listener, fileName);
  if (found === null) return 'ABSENT';
  return found.fingerprint256.toUpperCase() === fingerprint256.toUpperCase() ? 'PRESENT' : 'OTHER';
}

const authorityNamed = ({ authorities }: ListenerCertificates, fileName: string) =>
  authorities.find((file) => file.fileName === fileName) ?? null;

/** NOT_REPORTED if the broker does not reconnect in time. */
export async function presenceAfterLoss(
  runtime: BrokerRuntime,
  listenerId: number,
  file: CertificateFile,
  timeoutMs: number,
): Promise<Presence> {
  try {
    await connectedAgain(runtime, timeoutMs);
    return await presenceOn(runtime, listenerId, file);
  } catch (error) {
    if (error instanceof ServiceError) return 'NOT_REPORTED';
    throw error;
  }
}

/** Waits until the broker is connected. Errors: BROKER_UNREACHABLE. */
async function connectedAgain({ link }: BrokerRuntime, timeoutMs: number): Promise<void> {
  const changed = new AbortController();
  const stop = link.onStatus(({ state }) => {
    if (state === 'CONNECTED' || state === 'CLOSED') changed.abort();
  });
  if (link.status.state !== 'CONNECTED') {
    await delay(timeoutMs, undefined, { signal: changed.signal }).catch(() => undefined);
  }
  stop();
  if (link.status.state !== 'CONNECTED') throw unreachable(link.status);
}
