import { Readable } from 'node:stream';
import type { Client } from 'aedes';
import { NOWHERE } from '../store/consumed-publish.ts';
import type { ClientRef } from '../store/incoming-store.ts';
import type { Persistence } from '../store/persistence.ts';
import type { PubrelHandler } from './pubrel-handler.ts';
import type { RetainedDelivery } from './retained-delivery.ts';

/** Called with an exception or a rejection that aedes does not handle, and the client that it concerns. */
type OnFault = (client: ClientRef, error: unknown) => void;

/** Methods of aedes-persistence 10 that concern one client, which is their first argument. */
const CLIENT_METHODS = [
  'addSubscriptions',
  'removeSubscriptions',
  'subscriptionsByClient',
  'cleanSubscriptions',
  'outgoingUpdate',
  'outgoingClearMessageId',
  'incomingStorePacket',
  'incomingGetPacket',
  'incomingDelPacket',
  'putWill',
  'delWill',
] as const satisfies readonly (keyof Persistence)[];

/** Returns the persistence for aedes, which does not handle exceptions in callbacks nor rejections before `finally`. */
export function guardPersistence(
  persistence: Persistence,
  { pubrel, retained, onFault }: { pubrel: PubrelHandler; retained: RetainedDelivery; onFault: OnFault },
): object {
  const guarded: Record<string, unknown> = Object.create(null);
  for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(persistence))) {
    const member = persistence[name as keyof Persistence];
    // aedes requires `setup` to be an async function, which a bound one still is.
    if (typeof member === 'function') guarded[name] = member.bind(persistence);
  }
  for (const name of CLIENT_METHODS) {
    const run = persistence[name].bind(persistence) as (client: ClientRef, argument: never) => Promise<unknown>;
    guarded[name] = (client: ClientRef, argument: never) =>
      new GuardedPromise(client, () => run(client, argument), onFault);
  }
  const { incomingGetPacket, incomingDelPacket } = persistence;
  const incoming = (client: Client, packet: PacketRef): Promise<object> => {
    if (packet.cmd === 'pubrel') return pubrel.take(client, packet.messageId);
    // A publish that was not consumed is delivered already. If PUBREL overtook PUBREC, its id is released and aedes
    // would deliver it again.
    if (packet.topic !== NOWHERE) return Promise.resolve(packet);
    return incomingGetPacket.call(persistence, client, packet as never);
  };
  guarded.incomingGetPacket = (client: Client, packet: PacketRef) =>
    new GuardedPromise(client, () => incoming(client, packet), onFault);
  guarded.incomingDelPacket = (client: Client, packet: PacketRef) =>
    new GuardedPromise(
      client,
      () =>
        packet.cmd === 'pubrel' ? pubrel.commit(client) : incomingDelPacket.call(persistence, client, packet as never),
      onFault,
    );
  guarded.createRetainedStreamCombi = (filters: readonly string[]) => retained.read(filters);
  guarded.outgoingStream = (client: ClientRef) => {
    try {
      return persistence.outgoingStream(client);
    } catch (error) {
      onFault(client, error);
      return Readable.from([]);
    }
  };
  return guarded;
}

interface PacketRef {
  readonly cmd: string;
  readonly messageId: number;
  readonly topic?: string;
}

type Settled<Value, Result> = ((value: Value) => Result | PromiseLike<Result>) | null | undefined;

/** A promise for one client. Exceptions of its callbacks are reported as faults of the client. */
class GuardedPromise<T> implements PromiseLike<T> {
  readonly #client: ClientRef;
  readonly #promise: Promise<T>;
  readonly #onFault: OnFault;

  constructor(client: ClientRef, run: () => Promise<T>, onFault: OnFault) {
    this.#client = client;
    this.#onFault = onFault;
    try {
      this.#promise = run();
    } catch (error) {
      this.#promise = Promise.reject(error);
    }
  }

  // biome-ignore lint/suspicious/noThenProperty: aedes uses this object as a promise.
  then<Done = T, Failed = never>(done?: Settled<T, Done>, failed?: Settled<unknown, Failed>): Promise<Done | Failed> {
    return this.#promise.then(done && this.#guarded(done), failed && this.#guarded(failed));
  }

  /** Resolves also if the promise rejects, because aedes ignores the promise that `finally` returns. */
  finally(done: () => void): Promise<void> {
    const guarded = this.#guarded(done);
    return this.#promise.then(guarded, (error) => {
      this.#onFault(this.#client, error);
      guarded(undefined);
    });
  }

  /** Called for each acknowledgement, so it has no rest parameters. */
  #guarded<Value, Result>(callback: (value: Value) => Result): (value: Value) => Result {
    return (value) => {
      try {
        return callback(value);
      } catch (error) {
        this.#onFault(this.#client, error);
        return undefined as Result;
      }
    };
  }
}
