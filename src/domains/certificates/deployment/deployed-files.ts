import { ServiceError } from '../../../platform/errors.ts';
import { unreachable } from '../../../protocol/mqtt/when-connected.ts';
import type { BrokerRuntime } from '../../brokers/broker-runtimes.ts';
import { type ListenerCertificates, listCertificates } from '../certificate-control.ts';

/** Which certificate is meant, as a broker knows it. */
export interface FileMeant {
  readonly fileName: string;
  readonly fingerprint256: string;
  readonly isServer: boolean;
}

/** THERE: that very certificate is used. OTHER: another one by its name, or as the server's. UNTOLD: the broker does not say. */
export type Presence = 'THERE' | 'OTHER' | 'ABSENT' | 'UNTOLD';

export async function presenceOn(
  { controls }: BrokerRuntime,
  listenerId: number,
  { fileName, fingerprint256, isServer }: FileMeant,
): Promise<Presence> {
  const listener = (await listCertificates(controls))?.find((entry) => entry.listenerId === listenerId);
  if (listener === undefined) return 'UNTOLD';
  const found = isServer ? listener.server : authorityNamed(listener, fileName);
  if (found === null) return 'ABSENT';
  return found.fingerprint256.toUpperCase() === fingerprint256.toUpperCase() ? 'THERE' : 'OTHER';
}

const authorityNamed = ({ authorities }: ListenerCertificates, fileName: string) =>
  authorities.find((file) => file.fileName === fileName) ?? null;

/** What became of a command whose answer was lost; UNTOLD also where the broker does not come back in time. */
export async function presenceAfterLoss(
  runtime: BrokerRuntime,
  listenerId: number,
  file: FileMeant,
  timeoutMs: number,
): Promise<Presence> {
  try {
    await connectedAgain(runtime, timeoutMs);
    return await presenceOn(runtime, listenerId, file);
  } catch (error) {
    if (error instanceof ServiceError) return 'UNTOLD';
    throw error;
  }
}

/** Errors: BROKER_UNREACHABLE. */
async function connectedAgain({ link }: BrokerRuntime, timeoutMs: number): Promise<void> {
  if (link.status.state === 'CONNECTED') return;
  await new Promise<void>((resolve, reject) => {
    const finish = () => {
      clearTimeout(timer);
      stop();
      if (link.status.state === 'CONNECTED') resolve();
      else reject(unreachable(link.status));
    };
    const timer = setTimeout(finish, timeoutMs);
    const stop = link.onStatus(({ state }) => {
      if (state === 'CONNECTED' || state === 'CLOSED') finish();
    });
  });
}
