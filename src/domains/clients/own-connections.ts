import { ServiceError } from '../../platform/errors.ts';
import type { BrokerRuntime, BrokerRuntimes } from '../brokers/broker-runtimes.ts';

export class OwnConnections {
  readonly #ids = new Set<string>();
  /** Parts of client ids up to and including the last `-`. */
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

  /** Includes the connections that verify the log (`-probe`), and those of bridges (`-remote`). */
  has(clientId: string): boolean {
    const id = clientId.replace(/-(probe|remote)$/, '');
    return this.#ids.has(id) || this.#prefixes.has(id.slice(0, id.lastIndexOf('-') + 1));
  }

  /** Errors: IN_USE for a connection of this service. */
  refuse(clientId: string): void {
    if (this.has(clientId)) throw ownConnection(clientId);
  }
}

export const ownConnection = (clientId: string) =>
  new ServiceError('IN_USE', `"${clientId}" is a connection of this service itself`, { info: { clients: [clientId] } });
