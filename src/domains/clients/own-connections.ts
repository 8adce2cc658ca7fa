import { ServiceError } from '../../platform/errors.ts';
import type { BrokerRuntime, BrokerRuntimes } from '../brokers/broker-runtimes.ts';

/** Client ids of the connections that this service itself has to brokers. */
export class OwnConnections {
  readonly #ids = new Set<string>();
  /** Up to the last `-` of an id. */
  readonly #prefixes = new Set<string>();

  constructor(runtimes: Pick<BrokerRuntimes, 'onRuntime'>) {
    runtimes.onRuntime(({ clientIds, clientIdPrefixes }: BrokerRuntime, change) => {
      for (const [set, values] of [
        [this.#ids, clientIds],
        [this.#prefixes, clientIdPrefixes],
      ] as const) {
        for (const value of values) {
          if (change === 'OPENED') set.add(value);
          else set.delete(value);
        }
      }
    });
  }

  /** Also of the connection that a link opens and ends at once, to see whether a log tells of it, and of that of a bridge to the other broker. */
  has(clientId: string): boolean {
    const id = clientId.replace(/-(probe|remote)$/, '');
    return this.#ids.has(id) || this.#prefixes.has(id.slice(0, id.lastIndexOf('-') + 1));
  }

  /** Errors: IN_USE for a connection of this service, which nothing may be done to by way of itself. */
  refuse(clientId: string): void {
    if (this.has(clientId)) throw ownConnection(clientId);
  }
}

export const ownConnection = (clientId: string) =>
  new ServiceError('IN_USE', `"${clientId}" is a connection of this service itself`, { info: { clients: [clientId] } });
