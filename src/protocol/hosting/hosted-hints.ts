import { ServiceError } from '../../platform/errors.ts';
import { ANYTHING, type Changes } from '../../platform/storage/changes.ts';
import type { ControlApi, ControlCommand, ControlEvent } from '../control/envelope.ts';
import { ControlRefusal } from '../control/plugin.ts';
import type { Stop } from '../mqtt/broker-session.ts';

/** How the events of one API reach other processes: what is announced is short, and whoever hears it asks for the rest. */
export interface EventHints {
  /** What has changed, in a few words, as the name of a stream; null: others are not told. Never empty. */
  hintOf(event: ControlEvent): string | null;
  /** The command that tells more; null: of anything that may have changed. */
  question(hint: string | null): ControlCommand;
  /** The events that its answer stands for. */
  eventsOf(answer: unknown): readonly ControlEvent[];
}

/** Who wants the events of what runs in another process. */
export interface Follower {
  readonly api: ControlApi;
  readonly hints: EventHints;
  /** Nothing is asked for while it is not; what is, is not told to it either where it runs here meanwhile. */
  isListening(): boolean;
  tell(event: ControlEvent): void;
}

export interface HostedHintsOptions {
  readonly changes: Changes;
  readonly ask: (brokerId: string, api: ControlApi, command: ControlCommand) => Promise<unknown>;
  readonly guard: (work: Promise<unknown>) => void;
}

/** The kind of the announcement; the id is `<brokerId> <api> <hint>`, without a hint where anything may have changed. */
const CHANGED = 'hostedChange';

/** How often others are told. */
const TELL_MS = 500;
/** More hints at a time are told, and followed, as one. */
const MAX_HINTS = 100;
/** Stands for all of them. */
const ALL = '';

/** Events of what is hosted beside brokers, from the process that runs it to the others: as hints, at most every TELL_MS. */
export class HostedHints {
  readonly #options: HostedHintsOptions;
  readonly #changed = new Map<string, Set<string>>();
  readonly #followers = new Map<string, Follower>();
  /** Whose hints are being followed, and what came meanwhile. */
  readonly #following = new Map<string, Set<string>>();
  readonly #stop: Stop;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: HostedHintsOptions) {
    this.#options = options;
    this.#stop = options.changes.on(CHANGED, (id) => this.#hinted(id));
  }

  /** Of what runs here. */
  tell(brokerId: string, api: ControlApi, hint: string): void {
    const key = `${brokerId} ${api}`;
    const changed = this.#changed.get(key) ?? new Set();
    this.#changed.set(key, changed.add(hint));
    this.#timer ??= setTimeout(() => this.#tellChanged(), TELL_MS);
  }

  /** One follower for each broker and API. */
  follow(brokerId: string, follower: Follower): Stop {
    const key = `${brokerId} ${follower.api}`;
    this.#followers.set(key, follower);
    return () => {
      if (this.#followers.get(key) === follower) this.#followers.delete(key);
    };
  }

  close(): void {
    this.#stop();
    if (this.#timer) clearTimeout(this.#timer);
    this.#followers.clear();
  }

  #tellChanged(): void {
    this.#timer = null;
    const { changes } = this.#options;
    for (const [key, hints] of this.#changed) {
      const told = hints.size > MAX_HINTS ? [ALL] : hints;
      for (const hint of told) void changes.announce(CHANGED, `${key} ${hint}`);
    }
    this.#changed.clear();
  }

  /** One question after the other for each broker and API; what is told meanwhile is asked once. */
  #hinted(announced: string): void {
    if (announced === ANYTHING) {
      for (const key of this.#followers.keys()) this.#hinted(`${key} ${ALL}`);
      return;
    }
    const [brokerId = '', api = ''] = announced.split(' ', 2);
    const key = `${brokerId} ${api}`;
    const follower = this.#followers.get(key);
    if (follower === undefined || !follower.isListening()) return;
    const hint = announced.slice(key.length + 1);
    const following = this.#following.get(key);
    if (following !== undefined) {
      following.add(following.size < MAX_HINTS ? hint : ALL);
      return;
    }
    const hints = new Set([hint]);
    this.#following.set(key, hints);
    this.#options.guard(this.#ask(brokerId, follower, hints).finally(() => this.#following.delete(key)));
  }

  async #ask(brokerId: string, { api, hints, isListening, tell }: Follower, waiting: Set<string>): Promise<void> {
    for (const hint of waiting) {
      waiting.delete(hint);
      const question = hints.question(hint === ALL ? null : hint);
      const answer = await this.#options.ask(brokerId, api, question).catch(refusedOnly);
      if (answer === null || !isListening()) continue;
      for (const event of hints.eventsOf(answer)) tell(event);
    }
  }
}

/** It is gone, or whoever runs it is: it comes again with the next change. */
function refusedOnly(error: unknown): null {
  if (error instanceof ControlRefusal || error instanceof ServiceError) return null;
  throw error;
}
