import { isFields } from '../../../control/fields.ts';
import type { EntryOrigin, LogPlace } from '../shared-log.ts';
import { LogEnded } from './log-options.ts';

/** A record that the scripts write. */
export type LogRecord =
  | { readonly type: 'joined'; readonly nodeId: number; readonly run: string; readonly wanted?: string }
  /** Taken: by another run of the node. `at`: epoch milliseconds, by the clock of Redis. */
  | {
      readonly type: 'lost';
      readonly nodeId: number;
      readonly run: string;
      readonly isTaken?: true;
      readonly at: number;
    }
  | {
      readonly type: 'begun';
      readonly epoch: string;
      readonly former: { readonly epoch: string; readonly position: string };
      readonly members: Readonly<Record<string, { readonly run: string; readonly number: number }>>;
    };

/** Throws a RangeError or a SyntaxError for what is none: nobody else should write there, but somebody might. */
export function readRecord(text: string): LogRecord {
  const record: unknown = JSON.parse(text);
  if (!isFields(record)) throw new RangeError('a record about nothing');
  const { type, nodeId, run, epoch, former, members } = record;
  const isOfNode = Number.isSafeInteger(nodeId) && typeof run === 'string';
  const isBegin = type === 'begun' && typeof epoch === 'string' && isFields(former) && isFields(members);
  if (!isBegin && !(isOfNode && (type === 'joined' || type === 'lost')))
    throw new RangeError('a record of no known kind');
  return record as unknown as LogRecord;
}

interface Member {
  readonly origin: EntryOrigin;
  number: number;
}

/**
 * Where a reader is in the log, and who is part of it there: each step checks that it is the next one. The log has no gaps, so one
 * that shows means that the reader has missed something, or was ahead of what is left.
 */
export class LogCourse {
  readonly #ownRun: string;
  readonly #members = new Map<number, Member>();
  #epoch: string;
  #generation: number;
  #number: number;

  constructor(place: LogPlace, ownRun: string) {
    this.#ownRun = ownRun;
    this.#epoch = place.epoch;
    [this.#generation, this.#number] = numbersOf(place.position);
    for (const { nodeId, run, number } of place.members) this.#enter(nodeId, run, number);
  }

  get position(): string {
    return `${this.#generation}-${this.#number}`;
  }

  get place(): LogPlace {
    const members = [...this.#members.values()].map(({ origin, number }) => ({
      nodeId: origin.nodeId,
      run: origin.run,
      number,
    }));
    return { epoch: this.#epoch, position: this.position, members };
  }

  /** Of those who are part of the log here this run is that of the first node by number. */
  get isFirst(): boolean {
    const first = Math.min(...this.#members.keys());
    return this.#members.get(first)?.origin.isOwn === true;
  }

  /** The record after this position is the one that made this run part of the log, and nobody else is. */
  isAloneBefore(joinedAt: string): boolean {
    return this.#members.size === 0 && joinedAt === `${this.#generation}-${this.#number + 1}`;
  }

  /** Records of a log that ends at this position and are still to come. A log that was begun anew: all that it has. */
  distanceTo(generation: number, last: number): number {
    return generation === this.#generation ? Math.max(0, last - this.#number) : last;
  }

  /** A batch at this position: who it is from. */
  batch(position: string, nodeId: number, run: string, number: number): EntryOrigin {
    this.#step(position);
    const member = this.#members.get(nodeId);
    if (member?.origin.run !== run || member.number + 1 !== number) {
      throw new LogEnded(
        'BROKEN',
        `the log has a batch at ${position} that does not follow the one before of its node`,
      );
    }
    member.number = number;
    return member.origin;
  }

  /** A record of the log's own. */
  record(position: string, record: LogRecord): void {
    if (record.type === 'begun') {
      this.#begin(position, record);
      return;
    }
    this.#step(position);
    if (record.type === 'joined') this.#enter(record.nodeId, record.run, 0);
    else this.#members.delete(record.nodeId);
  }

  #begin(position: string, { epoch, former, members }: LogRecord & { type: 'begun' }): void {
    if (former.epoch !== this.#epoch || former.position !== this.position) {
      throw new LogEnded(
        'BEHIND',
        `the log was begun anew after ${former.position}, and this node is at ${this.position}`,
      );
    }
    this.#epoch = epoch;
    [this.#generation, this.#number] = numbersOf(position);
    this.#members.clear();
    for (const [nodeId, { run, number }] of Object.entries(members)) this.#enter(Number(nodeId), run, number);
  }

  #step(position: string): void {
    const [generation, number] = numbersOf(position);
    if (generation !== this.#generation || number !== this.#number + 1) {
      throw new LogEnded(
        'BEHIND',
        `what follows ${this.position} is not in the log any more: it goes on at ${position}`,
      );
    }
    this.#number = number;
  }

  #enter(nodeId: number, run: string, number: number): void {
    this.#members.set(nodeId, { origin: { nodeId, run, isOwn: run === this.#ownRun }, number });
  }
}

function numbersOf(position: string): [generation: number, number: number] {
  const [generation, number] = position.split('-').map(Number);
  if (!Number.isSafeInteger(generation) || !Number.isSafeInteger(number)) {
    throw new LogEnded('BROKEN', 'a position of the log cannot be read');
  }
  return [Number(generation), Number(number)];
}
