import { setTimeout as delay } from 'node:timers/promises';
import type { LogEntry, LogPlace, LogReader, NodePresence, SharedLog } from '../shared-log.ts';
import { Heartbeat } from './heartbeat.ts';
import { type LinkMaker, reasonOf } from './link-maker.ts';
import { LogCourse } from './log-course.ts';
import { endOf, meetAgain, type Voter } from './log-membership.ts';
import { type LogBounds, LogEnded, type LogTiming, type ToldOptions } from './log-options.ts';
import { LogReading } from './log-reading.ts';
import { type OwnBatch, OwnBatches } from './own-batches.ts';
import type { RedisLink } from './redis-link.ts';
import { claimSnapshot, giveSnapshot } from './snapshots.ts';
import { Tellings } from './tellings.ts';

const CLOSE_MS = 2_000;

export interface RedisLogParts {
  readonly options: ToldOptions;
  readonly timing: LogTiming;
  readonly bounds: LogBounds;
  readonly links: LinkMaker;
  readonly link: RedisLink;
  readonly run: string;
  readonly voter: Voter;
  /** Where it joined. */
  readonly position: string;
}

/**
 * One run of a node in the log of a cluster.
 *
 * States: JOINED (heartbeats only) -> REACHED <-> CUT_OFF -> ENDED. While it is cut off, everything that was appended is kept and goes
 * out afterwards. It ends when it is closed, when the cluster has gone on without it, or when it cannot go on itself.
 */
export class RedisLog implements SharedLog {
  readonly #parts: RedisLogParts;
  readonly #own: OwnBatches;
  readonly #tellings: Tellings;
  readonly #heartbeat: Heartbeat;
  readonly #stop = new AbortController();
  #course: LogCourse | null = null;
  #reader: LogReader | null = null;
  #link: RedisLink;
  #lastAppend: Promise<void> = Promise.resolve();
  #ended: LogEnded | null = null;
  #isReached = false;
  /** Redis has no memory left. */
  #isFull = false;
  #behind = 0;
  #nodes: readonly NodePresence[] = [];

  constructor(parts: RedisLogParts) {
    const { options, timing, bounds, run, link, position } = parts;
    const head = { nodeId: options.nodeId, run };
    this.#parts = parts;
    this.#link = link;
    this.#own = new OwnBatches(head, bounds.batchBytes, (batch) => this.#send(batch));
    this.#tellings = new Tellings(head, options.onProblem);
    this.#heartbeat = new Heartbeat({
      ...head,
      timing,
      bounds,
      isStarting: () => this.#course === null,
      position: () => this.#course?.position ?? position,
      onBeat: (beat) => this.#beaten(beat),
      onEnd: (error) => this.#end(error),
    });
    this.#heartbeat.start(link);
  }

  get isReached(): boolean {
    return this.#isReached;
  }

  get problem(): string | null {
    return this.#isReached ? null : this.#parts.options.lastProblem();
  }

  get pendingBytes(): number {
    return this.#own.pendingBytes;
  }

  get behind(): number {
    return this.#behind;
  }

  get nodes(): readonly NodePresence[] {
    return this.#nodes;
  }

  get place(): LogPlace {
    if (!this.#course) throw new Error('the log is not started');
    return this.#course.place;
  }

  /** Null while it can go on. */
  get ended(): LogEnded | null {
    return this.#ended;
  }

  append(entry: LogEntry): Promise<void> {
    this.#lastAppend = this.#own.append(entry);
    return this.#lastAppend;
  }

  tell(entry: LogEntry): void {
    this.#tellings.tell(entry);
  }

  start(place: LogPlace, reader: LogReader): void {
    const { run, options, position: joinedAt } = this.#parts;
    const course = new LogCourse(place, run);
    this.#course = course;
    this.#reader = reader;
    reader.reached(course.place);
    if (this.#ended) {
      options.onEnd(this.#ended);
      return;
    }
    const reading = new LogReading({
      run,
      joinedAt,
      course,
      own: this.#own,
      reader,
      give: (link, request) => this.#give(link, request),
    });
    this.#goOn(reading, reader).catch((error) => {
      this.#end(
        error instanceof LogEnded ? error : new LogEnded('BROKEN', `an entry was not applied: ${reasonOf(error)}`),
      );
    });
  }

  async close(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    if (this.#reader && this.#link.isUp) {
      const gone = this.#lastAppend.catch(() => undefined);
      await Promise.race([gone, delay(CLOSE_MS, undefined, { ref: false })]);
    }
    const { options, run } = this.#parts;
    const link = this.#link;
    this.#finish(new LogEnded('CLOSED', 'the log was closed'));
    if (link.isUp) {
      const left = link.run('leave', String(options.nodeId), run).catch(() => undefined);
      await Promise.race([left, delay(CLOSE_MS, undefined, { ref: false })]);
    }
    link.fail(new Error('the log was closed'));
  }

  /** Rejects when this node cannot go on. */
  async #goOn(reading: LogReading, reader: LogReader): Promise<void> {
    const { signal } = this.#stop;
    for (;;) {
      const link = this.#link;
      if (await this.#meet(link, reader)) await reading.follow(link);
      const reason = await link.lost;
      // Whoever is told that it is not reached asks why.
      if (!signal.aborted) this.#parts.options.onProblem(`Redis was lost: ${reason.message}`);
      this.#cutOff();
      if (signal.aborted) return;
      try {
        this.#link = await this.#parts.links.next(signal);
      } catch {
        return;
      }
    }
  }

  /** Whether the link can be used; it is given up otherwise. */
  async #meet(link: RedisLink, reader: LogReader): Promise<boolean> {
    try {
      await this.#tellings.attach(link, reader);
      await this.#resume(link);
      this.#heartbeat.start(link);
      return link.isUp;
    } catch (error) {
      if (error instanceof LogEnded) throw error;
      link.fail(error instanceof Error ? error : new Error(String(error)));
      return false;
    }
  }

  async #resume(link: RedisLink): Promise<void> {
    const { run, voter } = this.#parts;
    const number = await meetAgain(link, run, { ...voter, place: this.place });
    if (!link.isUp || this.#ended) return;
    this.#own.resume(number);
    if (!this.#isFull || this.#own.pendingBytes === 0) this.#fits();
  }

  #fits(): void {
    this.#isFull = false;
    this.#reach(true);
  }

  #cutOff(): void {
    this.#heartbeat.stop();
    this.#own.suspend();
    this.#tellings.detach();
    this.#reach(false);
  }

  #send(batch: OwnBatch): void {
    const link = this.#link;
    const { options, run } = this.#parts;
    link.run('append', String(options.nodeId), run, String(batch.number), batch.encoded).then(
      (reply) => {
        const answer = String(reply);
        if (link !== this.#link || !link.isUp) return;
        if (answer === 'OK') {
          if (this.#isFull) this.#fits();
          this.#own.answered();
        } else if (answer === 'TAKEN' || answer === 'LOST') this.#end(endOf(answer));
        // Behind one that found no memory nothing fits; otherwise a new link finds out what the log has.
        else if (!this.#isFull) link.fail(new Error('Redis has lost a part of the log'));
      },
      (error: Error) => {
        if (error.message.startsWith('OOM')) this.#full();
        else link.fail(error);
      },
    );
  }

  /** Tried again after each heartbeat; over when something fits, or nothing waits. */
  #full(): void {
    this.#own.suspend();
    if (this.#isFull) return;
    this.#isFull = true;
    this.#parts.options.onProblem('Redis has no memory left: nothing can be shared until it has');
    this.#reach(false);
  }

  #beaten({
    isFull,
    generation,
    last,
    nodes,
  }: {
    isFull: boolean;
    generation: number;
    last: number;
    nodes: NodePresence[];
  }) {
    this.#nodes = nodes;
    this.#behind = this.#course?.distanceTo(generation, last) ?? 0;
    if (!this.#course) return;
    const link = this.#link;
    if (isFull) this.#full();
    else if (this.#isFull && this.#own.isSuspended) {
      this.#resume(link).catch((error) => (error instanceof LogEnded ? this.#end(error) : link.fail(error)));
    }
  }

  async #give(link: RedisLink, request: string): Promise<void> {
    const { options, run, timing } = this.#parts;
    try {
      if (!this.#reader || !(await claimSnapshot(link, request))) return;
      const snapshot = {
        head: { nodeId: options.nodeId, run },
        place: this.place,
        entries: this.#reader.snapshot(),
      };
      await giveSnapshot(link, request, snapshot, timing.snapshot);
    } catch (error) {
      if (link.isUp)
        options.onProblem(`A node that begins could not be given what all have in common: ${reasonOf(error)}`);
    }
  }

  #reach(isReached: boolean): void {
    if (this.#isReached === isReached) return;
    this.#isReached = isReached;
    this.#parts.options.onReach?.(isReached);
  }

  #end(error: LogEnded): void {
    if (this.#ended) return;
    this.#finish(error);
    this.#link.fail(error);
    if (this.#reader) this.#parts.options.onEnd(error);
  }

  #finish(error: LogEnded): void {
    this.#ended ??= error;
    this.#stop.abort();
    this.#cutOff();
    this.#own.end(error);
  }
}
