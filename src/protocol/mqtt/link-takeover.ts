import { type LinkFailure, takenOverFrom } from './link-failure.ts';

/** Longest time between the log line of a takeover and the end of the connection. */
const VALID_MS = 2_000;

/**
 * Why a connection ended, if another client has taken over the client id. Mosquitto 2.0 logs the takeover before it
 * ends the connection. 2.1 logs it afterwards, but gives the reason to clients of MQTT 5.
 */
export class LinkTakeover {
  /** Where the other client probably connected from; `null` if it is not known. */
  addressOf: () => string | null = () => null;
  #noted: { readonly cause: LinkFailure; readonly validTo: number } | null = null;

  note(address: string | null): void {
    this.#noted = { cause: takenOverFrom(address), validTo: performance.now() + VALID_MS };
  }

  clear(): void {
    this.#noted = null;
  }

  /** The cause of the end of a connection, with what is known about the other client. */
  causeOf(failure: LinkFailure | null): LinkFailure | null {
    if (this.#noted !== null && performance.now() <= this.#noted.validTo) return this.#noted.cause;
    return failure?.isTakenOver ? takenOverFrom(this.addressOf()) : failure;
  }
}
