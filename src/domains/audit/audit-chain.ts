/**
 * How entries hang together. The hash of an entry is the SHA-256 of its canonical form: the JSON of a list of its values in the order of
 * COLUMNS, moments as ISO 8601, `previousHash` (that of the entry before it) the last. So whoever has the entries can check them; the
 * hash of the newest stands for all of them, and is signed with the secret key (a mark), so that whoever can write the database but
 * has no key cannot make another chain, nor a shorter one.
 */
import { createHash } from 'node:crypto';
import type { AuditEntry, AuditMark } from '../../generated/sqlite/client.ts';
import type { Sealer } from '../../platform/storage/sealed.ts';

/** Without a place in the chain. */
export type UnchainedEntry = Omit<AuditEntry, 'sequence' | 'previousHash' | 'hash'>;

/** A place in the chain: that of an entry, or before the first. */
export interface ChainPlace {
  readonly sequence: number;
  readonly hash: string;
}

/** Where a chain begins. */
export const GENESIS: ChainPlace = { sequence: 0, hash: '0'.repeat(64) };

/** In the order in which they are hashed. */
export const COLUMNS = [
  'sequence',
  'id',
  'at',
  'actorKind',
  'actorId',
  'actorName',
  'actorIssuer',
  'address',
  'requestId',
  'via',
  'operation',
  'projectId',
  'brokerId',
  'targetKind',
  'targetId',
  'before',
  'after',
  'result',
  'code',
  'previousHash',
] as const satisfies readonly (keyof AuditEntry)[];

export function hashOf(entry: Omit<AuditEntry, 'hash'>): string {
  return createHash('sha256')
    .update(JSON.stringify(COLUMNS.map((column) => entry[column])))
    .digest('hex');
}

/** The entries behind a place, in their order. */
export function chained(entries: readonly UnchainedEntry[], from: ChainPlace): AuditEntry[] {
  let { sequence, hash } = from;
  return entries.map((entry) => {
    sequence += 1;
    const placed = { ...entry, sequence, previousHash: hash };
    hash = hashOf(placed);
    return { ...placed, hash };
  });
}

/** `witness` is kept outside of the database. */
export type MarkName = 'start' | 'head' | 'witness';

/** Signs places, and tells whether a mark is what this service left. */
export class Marks {
  readonly #sealer: Pick<Sealer, 'sign' | 'verify'>;

  constructor(sealer: Pick<Sealer, 'sign' | 'verify'>) {
    this.#sealer = sealer;
  }

  of(name: MarkName, { sequence, hash }: ChainPlace): AuditMark {
    return { name, sequence, hash, seal: this.#sealer.sign(textOf(sequence, hash), contextOf(name)) };
  }

  /** The same mark, signed with the current key; `null` if it is, or is none of this service's. */
  renewed(mark: AuditMark & { readonly name: MarkName }): AuditMark | null {
    const own = this.of(mark.name, mark);
    return own.seal === mark.seal || this.check(mark) !== 'GOOD' ? null : own;
  }

  check({ name, sequence, hash, seal }: AuditMark): 'GOOD' | 'BAD' | 'OTHER_KEY' {
    return this.#sealer.verify(textOf(sequence, hash), contextOf(name), seal);
  }
}

const textOf = (sequence: number, hash: string): string => `${sequence} ${hash}`;
const contextOf = (name: string): string => `audit/${name}`;

export interface ChainProblem {
  /** Of the entry, or of the place where one is missing. */
  readonly sequence: number;
  readonly reason: string;
}

/** Follows the chain entry by entry and tells what does not fit; goes on behind it. */
export class ChainCheck {
  #place: ChainPlace;
  #checked = 0;

  constructor(start: ChainPlace) {
    this.#place = start;
  }

  get place(): ChainPlace {
    return this.#place;
  }

  get checked(): number {
    return this.#checked;
  }

  /** Null: it fits. */
  next(entry: AuditEntry): ChainProblem | null {
    const { sequence, hash } = this.#place;
    const problem = this.#problemOf(entry, sequence, hash);
    this.#place = { sequence: entry.sequence, hash: entry.hash };
    this.#checked += 1;
    return problem;
  }

  #problemOf(entry: AuditEntry, before: number, hashBefore: string): ChainProblem | null {
    const { sequence } = entry;
    if (sequence !== before + 1) return missing(before + 1, sequence - 1);
    if (hashOf(entry) !== entry.hash) return { sequence, reason: 'it was changed after it was written' };
    if (entry.previousHash !== hashBefore) {
      return { sequence, reason: 'it does not follow the entry before it: one of them was put in, or written anew' };
    }
    return null;
  }
}

export function missing(first: number, last: number): ChainProblem {
  const reason = first === last ? `the entry ${first} is missing` : `the entries ${first} to ${last} are missing`;
  return { sequence: first, reason };
}
