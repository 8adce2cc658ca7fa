import type { NodePresence } from '../shared-log.ts';
import { endOf, textsOf } from './log-membership.ts';
import type { LogBounds, LogEnded, LogTiming } from './log-options.ts';
import type { RedisLink } from './redis-link.ts';

/**
 * What a node has applied may be in memory only, for less time than this (in heartbeats): until then the log keeps it for this node,
 * which reads it again after a crash.
 */
const BEATS_UNTIL_KEPT = 5;

export interface HeartbeatParts {
  readonly nodeId: number;
  readonly run: string;
  readonly timing: LogTiming;
  readonly bounds: LogBounds;
  /** It has not begun: what it loads may keep it from telling that it is there for long. */
  readonly isStarting: () => boolean;
  /** What this node has applied. */
  readonly position: () => string;
  /** One was answered. Full: Redis has no memory for anything more. */
  readonly onBeat: (beat: { isFull: boolean; generation: number; last: number; nodes: NodePresence[] }) => void;
  readonly onEnd: (error: LogEnded) => void;
}

/** Tells in time that this node is there; Redis finds the others that do not. One at a time: those behind it have had their turn. */
export class Heartbeat {
  readonly #parts: HeartbeatParts;
  readonly #positions: string[];
  #timer: NodeJS.Timeout | null = null;
  #isAsked = false;

  constructor(parts: HeartbeatParts) {
    this.#parts = parts;
    this.#positions = new Array<string>(BEATS_UNTIL_KEPT).fill(parts.position());
  }

  /** On another link than before. */
  start(link: RedisLink): void {
    this.stop();
    this.#isAsked = false;
    this.#timer = setInterval(() => this.#beat(link), this.#parts.timing.beat);
    this.#beat(link);
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }

  #beat(link: RedisLink): void {
    if (!link.isUp) this.stop();
    else if (!this.#isAsked) {
      this.#isAsked = true;
      this.#ask(link).catch((error) => link.fail(error instanceof Error ? error : new Error(String(error))));
    }
  }

  async #ask(link: RedisLink): Promise<void> {
    const { nodeId, run, timing, bounds, isStarting, position, onBeat, onEnd } = this.#parts;
    this.#positions.push(position());
    const kept = this.#positions.shift() ?? position();
    const lead = isStarting() ? timing.starting : 0;
    const limits = [timing.expiry, timing.beat * 1.5, timing.retention, bounds.logBytes, lead].map(String);
    const [answer = '', generation, last, ...nodes] = textsOf(
      await link.run('beat', String(nodeId), run, kept, ...limits),
    );
    if (!link.isUp) return;
    this.#isAsked = false;
    // Redis has lost everything: a new link finds out what to do.
    if (answer === 'GONE') link.fail(new Error('what Redis had of the cluster is gone'));
    else if (answer === 'OK' || answer === 'FULL') {
      onBeat({
        isFull: answer === 'FULL',
        generation: Number(generation),
        last: Number(last),
        nodes: presencesOf(nodes),
      });
    } else onEnd(endOf(answer));
  }
}

function presencesOf(pairs: readonly string[]): NodePresence[] {
  const nodes: NodePresence[] = [];
  for (let i = 0; i < pairs.length; i += 2) nodes.push({ nodeId: Number(pairs[i]), isAlive: pairs[i + 1] === '1' });
  return nodes.sort((a, b) => a.nodeId - b.nodeId);
}
