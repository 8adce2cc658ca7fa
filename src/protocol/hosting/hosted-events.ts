import { ServiceError } from '../../platform/errors.ts';
import { ANYTHING, type Changes } from '../../platform/storage/changes/changes.ts';
import type { ControlApi, ControlCommand, ControlEvent } from '../control/envelope.ts';
import { ControlRefusal } from '../control/plugin.ts';
import type { Stop } from '../mqtt/broker-session.ts';

/** How events reach other processes: a short key is announced, and a follower requests the changed state. */
export interface EventForwarding {
  /** What changed, such as the name of a stream; never empty. `null` if the event is not forwarded. */
  keyOf(event: ControlEvent): string | null;
  /** The command that returns the changed state; `null`: anything may have changed. */
  command(key: string | null): ControlCommand;
  eventsOf(response: unknown): readonly ControlEvent[];
}

export interface Follower {
  readonly api: ControlApi;
  readonly forwarding: EventForwarding;
  /** Whether there are listeners, and the plugin does not run in this process. */
  isListening(): boolean;
  emit(event: ControlEvent): void;
}

interface HostedEventsOptions {
  readonly changes: Changes;
  readonly call: (brokerId: string, api: ControlApi, command: ControlCommand) => Promise<unknown>;
  readonly guard: (work: Promise<unknown>) => void;
}

/** The kind of the announcement; the id is `<brokerId> <api> <key>`, with ANY_KEY if anything may have changed. */
const CHANGED = 'hostedChange';
const ANY_KEY = '';

const ANNOUNCE_MS = 500;
/** More keys are announced and requested as ANY_KEY. */
const MAX_KEYS = 100;

export class HostedEvents {
  readonly #options: HostedEventsOptions;
  readonly #changed = new Map<string, Set<string>>();
  readonly #followers = new Map<string, Follower>();
  readonly #requested = new Map<string, Set<string>>();
  readonly #stop: Stop;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: HostedEventsOptions) {
    this.#options = options;
    this.#stop = options.changes.on(CHANGED, (id) => this.#announced(id));
  }

  announce(brokerId: string, api: ControlApi, key: string): void {
    const plugin = `${brokerId} ${api}`;
    const changed = this.#changed.get(plugin) ?? new Set();
    this.#changed.set(plugin, changed.add(key));
    this.#timer ??= setTimeout(() => this.#announceChanged(), ANNOUNCE_MS);
  }

  follow(brokerId: string, follower: Follower): Stop {
    const plugin = `${brokerId} ${follower.api}`;
    this.#followers.set(plugin, follower);
    return () => {
      if (this.#followers.get(plugin) === follower) this.#followers.delete(plugin);
    };
  }

  close(): void {
    this.#stop();
    if (this.#timer) clearTimeout(this.#timer);
    this.#followers.clear();
  }

  #announceChanged(): void {
    this.#timer = null;
    for (const [plugin, changed] of this.#changed) {
      const keys = changed.size > MAX_KEYS ? [ANY_KEY] : changed;
      for (const key of keys) void this.#options.changes.announce(CHANGED, `${plugin} ${key}`);
    }
    this.#changed.clear();
  }

  /** One request after the other for each plugin; a key that is announced several times meanwhile is requested once. */
  #announced(id: string): void {
    if (id === ANYTHING) {
      for (const plugin of this.#followers.keys()) this.#announced(`${plugin} ${ANY_KEY}`);
      return;
    }
    const [brokerId = '', api = ''] = id.split(' ', 2);
    const plugin = `${brokerId} ${api}`;
    const follower = this.#followers.get(plugin);
    if (follower === undefined || !follower.isListening()) return;
    const key = id.slice(plugin.length + 1);
    const requested = this.#requested.get(plugin);
    if (requested !== undefined) {
      requested.add(requested.size < MAX_KEYS ? key : ANY_KEY);
      return;
    }
    const keys = new Set([key]);
    this.#requested.set(plugin, keys);
    this.#options.guard(this.#request(brokerId, follower, keys).finally(() => this.#requested.delete(plugin)));
  }

  async #request(brokerId: string, follower: Follower, keys: Set<string>): Promise<void> {
    const { api, forwarding } = follower;
    for (const key of keys) {
      keys.delete(key);
      const command = forwarding.command(key === ANY_KEY ? null : key);
      const response = await this.#options.call(brokerId, api, command).catch(nullIfRefused);
      if (response === null || !follower.isListening()) continue;
      for (const event of forwarding.eventsOf(response)) follower.emit(event);
    }
  }
}

/** The stream, bridge or process is gone. The next change is announced again. */
function nullIfRefused(error: unknown): null {
  if (error instanceof ControlRefusal || error instanceof ServiceError) return null;
  throw error;
}
