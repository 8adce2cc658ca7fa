import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Sealer } from '../encryption/sealed.ts';

/** Processes whose last number is known. */
const MAX_ORIGINS = 1_000;
const CONTEXT = 'change';

interface Change {
  readonly kind: string;
  readonly id: string;
}

interface Message extends Change {
  readonly origin: string;
  /** Increases with each message of the origin. */
  readonly number: number;
  readonly mark?: string;
}

type Signer = Pick<Sealer, 'sign' | 'verify'>;

/**
 * The payloads of notifications between processes. Any role that may connect to the database can send and repeat them,
 * so they are signed and numbered.
 */
export class ChangeMessages {
  readonly #origin = randomUUID();
  readonly #lastNumbers = new LRUCache<string, number>({ max: MAX_ORIGINS });
  #number = 0;
  /** Without one, nothing is signed, and every message is believed. */
  signer: Signer | null = null;

  write({ kind, id }: Change): string {
    this.#number += 1;
    const message: Message = { origin: this.#origin, kind, id, number: this.#number };
    const mark = this.signer?.sign(textOf(message), CONTEXT);
    return JSON.stringify(mark === undefined ? message : { ...message, mark });
  }

  /**
   * Returns `null` for own, repeated and malformed messages. UNKNOWN: a message without a valid signature, such as of a
   * process with another key.
   */
  read(payload = ''): Change | 'UNKNOWN' | null {
    const message = parsed(payload);
    if (message === null || message.origin === this.#origin) return null;
    const { origin, number, kind, id, mark = '' } = message;
    if (this.signer === null) return { kind, id };
    if (this.signer.verify(textOf(message), CONTEXT, mark) !== 'GOOD') return 'UNKNOWN';
    if (number <= (this.#lastNumbers.get(origin) ?? 0)) return null;
    this.#lastNumbers.set(origin, number);
    return { kind, id };
  }
}

const textOf = ({ origin, number, kind, id }: Message): string => JSON.stringify([origin, number, kind, id]);

function parsed(payload: string): Message | null {
  try {
    const { origin, kind, id, number, mark } = JSON.parse(payload);
    if (typeof kind !== 'string' || typeof id !== 'string') return null;
    return { origin: String(origin), kind, id, number: Number(number), ...(typeof mark === 'string' && { mark }) };
  } catch {
    return null;
  }
}
