import { type ErrorCode, ServiceError } from '../../../platform/errors.ts';
import type { ListenerEntry } from '../certificate-commands.ts';

/** A listener as callers name it. */
export interface ListenerPlace {
  readonly port: number;
  /** Null: whichever listens on the port, where that is one only. */
  readonly bindAddress: string | null;
}

/** One that certificates can be deployed to. */
export interface FoundListener {
  readonly id: number;
  readonly port: number;
  /** As the broker tells it; empty: all addresses. */
  readonly bindAddress: string;
}

const ANY_ADDRESS = ['', '*', '0.0.0.0', '::'];

/** Errors: NOT_FOUND, INVALID (several fit), BROKER_REJECTED (no TLS there), NOT_SUPPORTED_BY_BROKER. */
export function findListener(listeners: readonly ListenerEntry[], place: ListenerPlace): FoundListener {
  const { port } = place;
  const onPort = listeners.filter((listener) => listener.port === port);
  const fitting = place.bindAddress === null ? onPort : withAddress(onPort, place.bindAddress);
  const [listener, ...more] = fitting;
  if (listener === undefined) {
    const others = listeners.length === 0 ? '' : `: it listens on ${shownAll(listeners)}`;
    throw problem('NOT_FOUND', `The broker has no listener on ${shownPlace(place)}${others}`);
  }
  if (more.length > 0) {
    throw problem('INVALID', `Several listeners have port ${port}, ${shownAll(fitting)}: name the bindAddress`);
  }
  if (!listener.tls) throw problem('BROKER_REJECTED', `TLS is not enabled on the listener of ${shownPlace(place)}`);
  if (listener.id === null) {
    throw problem(
      'NOT_SUPPORTED_BY_BROKER',
      'The broker does not tell the ids of its listeners, by which certificates are deployed',
    );
  }
  return { id: listener.id, port, bindAddress: listener.bindAddress ?? '' };
}

/** A listener on all addresses is meant by any word for them, unless one says just that word. */
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
/** Longer than any. */
const MAX_ADDRESS = 255;

const shownAll = (listeners: readonly ListenerEntry[]): string =>
  `${listeners.slice(0, MAX_SHOWN).map(shown).join(', ')}${listeners.length > MAX_SHOWN ? ', …' : ''}`;

const shownPlace = ({ port, bindAddress }: ListenerPlace): string =>
  bindAddress === null ? `port ${port}` : `port ${port} of ${bindAddress.slice(0, MAX_ADDRESS) || 'all addresses'}`;

const problem = (code: ErrorCode, message: string) => new ServiceError(code, message);
