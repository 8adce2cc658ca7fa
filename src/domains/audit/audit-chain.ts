/**
 * The hash of an entry is the SHA-256 of the JSON of COLUMNS, with times as ISO 8601. The newest hash covers all
 * entries and is signed with the secret key (a mark): without it, an attacker can write neither another nor a shorter
 * chain.
 */
import { createHash } from 'node:crypto';
import type { AuditEntry, AuditMark } from '../../generated/sqlite/client.ts';
import type { Sealer } from '../../platform/storage/encryption/sealed.ts';

export type UnchainedEntry = Omit<AuditEntry, 'sequence' | 'previousHash' | 'hash'>;

export interface ChainPosition {
  readonly sequence: number;
  readonly hash: string;
}

export const GENESIS: ChainPosition = { sequence: 0, hash: '0'.repeat(64) };

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

export function chained(entries: readonly UnchainedEntry[], from: ChainPosition): AuditEntry[] {
  let { sequence, hash } = from;
  return entries.map((entry) => {
    sequence += 1;
    const unhashed = { ...entry, sequence, previousHash: hash };
    hash = hashOf(unhashed);
    return { ...unhashed, hash };
  });
}

/** `witness` is stored in the data folder, the other marks in the database. */
type MarkName = 'start' | 'head' | 'witness';

export class Marks {
  readonly #sealer: Pick<Sealer, 'sign' | 'verify'>;

  constructor(sealer: Pick<Sealer, 'sign' | 'verify'>) {
    this.#sealer = sealer;
  }

  of(name: MarkName, { sequence, hash }: ChainPosition): AuditMark {
    return { name, sequence, hash, seal: this.#sealer.sign(textOf(sequence, hash), contextOf(name)) };
  }

  /** `null` if it is already signed with the current key, or if its signature is invalid. */
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
  readonly sequence: number;
  readonly reason: string;
}

export class ChainCheck {
  position: ChainPosition;
  checked = 0;

  constructor(start: ChainPosition) {
    this.position = start;
  }

  next(entry: AuditEntry): ChainProblem | null {
    const { sequence, hash } = this.position;
    const problem = this.#problemOf(entry, sequence, hash);
    this.position = { sequence: entry.sequence, hash: entry.hash };
    this.checked += 1;
    return problem;
  }

  #problemOf(entry: AuditEntry, before: number, hashBefore: string): ChainProblem | null {
    const { sequence } = entry;
    if (sequence !== before + 1) return missing(before + 1, sequence - 1);
    if (hashOf(entry) !== entry.hash) return { sequence, reason: 'the entry was changed after it was written' };
    if (entry.previousHash !== hashBefore) {
      return { sequence, reason: 'the entry does not follow the previous one: one of them was inserted or rewritten' };
    }
    return null;
  }
}

export function missing(first: number, last: number): ChainProblem {
  const reason = first === last ? `the entry ${first} is missing` : `the entries ${first} to ${last} are missing`;
  return { sequence: first, reason };
}
