import { setImmediate as immediate } from 'node:timers/promises';
import type { ControlCaller } from '../../protocol/control/plugin.ts';
import { type ClientRef, keyOf } from './inspect/client-key.ts';
import { getQueues, MAX_QUEUE_IDS } from './inspect/inspect-control.ts';
import type { ClientQueues } from './inspect/inspect-data.ts';

/**
 * What waits for the clients of one list, as it is when somebody looks: it changes with every message, so nobody is told of its
 * changes, and what was listed grows old. Clients that are looked at in the same moment, as those of a page are, are asked for
 * together: a question for every MAX_QUEUE_IDS.
 */
export class QueueReader {
  readonly #ask: Ask;
  /** Whom the next question is about, by key. */
  #collected = new Map<string, ClientRef>();
  #answer: Promise<ReadonlyMap<string, ClientQueues>> | null = null;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  /** Null: there is no such client any more, or the broker may not be asked. Errors: of a broker that cannot be asked. */
  async read(client: ClientRef, mayAsk: () => Promise<boolean>): Promise<ClientQueues | null> {
    const key = keyOf(client);
    this.#collected.set(key, client);
    this.#answer ??= this.#read(mayAsk);
    return (await this.#answer).get(key) ?? null;
  }

  async #read(mayAsk: () => Promise<boolean>): Promise<ReadonlyMap<string, ClientQueues>> {
    const may = mayAsk();
    // What is looked at in this moment has been by then.
    await immediate();
    const isAllowed = await may;
    const clients = [...this.#collected];
    this.#collected = new Map();
    this.#answer = null;
    const found = new Map<string, ClientQueues>();
    for (let start = 0; isAllowed && start < clients.length; start += MAX_QUEUE_IDS) {
      const some = clients.slice(start, start + MAX_QUEUE_IDS);
      const places = some.map(([, place]) => place);
      const queues = await this.#ask((caller) => getQueues(caller, places));
      for (const [index, [key]] of some.entries()) {
        const entry = queues[index];
        if (entry) found.set(key, entry);
      }
    }
    return found;
  }
}

/** Lets the broker be asked, by whatever connection it has then. */
export type Ask = <T>(question: (caller: ControlCaller) => Promise<T>) => Promise<T>;
