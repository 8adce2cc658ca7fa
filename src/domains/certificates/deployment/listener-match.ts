import { type ErrorCode, ServiceError } from '../../../platform/errors.ts';
import type { ListenerEntry } from '../../../protocol/control/listeners.ts';

export interface ListenerAddress {
  readonly port: number;
  /** `null` selects the only listener on the port. */
  readonly bindAddress: string | null;
}

export interface FoundListener {
  readonly id: number;
  readonly port: number;
  readonly bindAddress: string;
}

const ANY_ADDRESS = ['', '*', '0.0.0.0', '::'];

/** Errors: NOT_FOUND, INVALID (several match), BROKER_REJECTED (no TLS), NOT_SUPPORTED_BY_BROKER. */
export function findListener(listeners: readonly ListenerEntry[], address: ListenerAddress): FoundListener {
  const { port } = address;
  const onPort = listeners.filter((listener) => listener.port === port);
  const fitting = address.bindAddress === null ? onPort : withAddress(onPort, address.bindAddress);
  const [listener, ...more] = fitting;
  if (listener === undefined) {
    const others = listeners.length === 0 ? '' : `: it listens on ${shownAll(listeners)}`;
    throw problem('NOT_FOUND', `The broker has no listener on ${shownAddress(address)}${others}`);
  }
  if (more.length > 0) {
    throw problem('INVALID', `Several listeners have port ${port}, ${shownAll(fitting)}: set bindAddress`);
  }
  if (!listener.tls) throw problem('BROKER_REJECTED', `TLS is not enabled on the listener of ${shownAddress(address)}`);
  if (listener.id === null) {
    throw problem(
      'NOT_SUPPORTED_BY_BROKER',
      'The broker does not report the ids of its listeners, which are required to deploy certificates',
    );
  }
  return { id: listener.id, port, bindAddress: listener.bindAddress ?? '' };
}

/** A listener on all addresses matches any notation for them, unless another listener has exactly this notation. */
function withAddress(listeners: readonly ListenerEntry[], bindAddress: string): readonly ListenerEntry[] {
  const wanted = plain(bindAddress);
  const exact = listeners.filter((listener) => plain(listener.bindAddress ?? '') === wanted);
  if (exact.length > 0 || !ANY_ADDRESS.includes(wanted)) return exact;
  return listeners.filter((listener) => ANY_ADDRESS.includes(plain(listener.bindAddress ?? '')));
}

const plain = (address: string): string =>
  address
    .trim()
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase();

const shown = ({ port, bindAddress, tls }: ListenerEntry): string =>
  `${bindAddress === null ? '' : `${bindAddress.slice(0, MAX_ADDRESS)}:`}${port}${tls ? ' (TLS)' : ''}`;

const MAX_SHOWN = 20;
const MAX_ADDRESS = 255;

const shownAll = (listeners: readonly ListenerEntry[]): string =>
  `${listeners.slice(0, MAX_SHOWN).map(shown).join(', ')}${listeners.length > MAX_SHOWN ? ', …' : ''}`;

const shownAddress = ({ port, bindAddress }: ListenerAddress): string =>
  bindAddress === null ? `port ${port}` : `port ${port} of ${bindAddress.slice(0, MAX_ADDRESS) || 'all addresses'}`;

const problem = (code: ErrorCode, message: string) => new ServiceError(code, message);
