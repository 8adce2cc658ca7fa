import { setTimeout as pause } from 'node:timers/promises';
import { stateIn } from '../../../gateway/live/broadcast.ts';
import type { LiveSource } from '../../../gateway/live/live-source.ts';
import { notFound } from '../../../platform/errors.ts';
import type { ClientGroup } from '../../clients/client-groups.ts';
import { type AccessView, ANONYMOUS } from '../graph/access-view.ts';
import type { AccessEvent } from './access-feed.ts';

type Watch = (signal: AbortSignal) => Promise<LiveSource<AccessEvent>>;

/** Until the next attempt, if the access control could not be watched. */
const RETRY_MS = 1_000;

/** The members of one group, for filters of clients. Connections without a user name are in the anonymous group. */
export class FollowedGroup implements ClientGroup {
  readonly name: string;
  readonly #watch: Watch;
  #members: ReadonlySet<string>;

  /** Errors: NOT_FOUND. */
  constructor(view: AccessView, name: string, watch: Watch) {
    if (view.group(name) === null) throw notFound('group', name);
    this.name = name;
    this.#watch = watch;
    this.#members = membersIn(view, name);
  }

  has(username: string): boolean {
    return this.#members.has(username);
  }

  follow(onChange: () => void): () => void {
    const stopped = new AbortController();
    void this.#follow(stopped.signal, onChange);
    return () => stopped.abort();
  }

  async #follow(signal: AbortSignal, onChange: () => void): Promise<void> {
    while (!signal.aborted) {
      try {
        for await (const event of await this.#watch(signal)) {
          const view = stateIn(event)?.latest();
          if (!view) continue;
          const members = membersIn(view, this.name);
          const isSame = members.size === this.#members.size && [...members].every((name) => this.has(name));
          this.#members = members;
          if (!isSame) onChange();
        }
      } catch {
        // The broker is unreachable, or the signal ended the stream.
      }
      await pause(RETRY_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}

/** Empty if the group does not exist anymore. */
function membersIn(view: AccessView, name: string): ReadonlySet<string> {
  const members = view.members(name).map(({ id }) => id);
  return new Set(view.policy.anonymousGroup === name ? [...members, ANONYMOUS] : members);
}
