import type { Account } from './encode.ts';
import { Peer } from './peer.ts';
import type { Sequence, Step } from './sequence.ts';

/** The broker that a sequence is played to. */
export interface Stage {
  readonly port: number;
  readonly account: Account;
  /** Whether the broker has failed. The rest of a sequence is then meaningless. */
  readonly hasFailed: boolean;
  /** Resolves when the broker has handled what was sent, or has failed. */
  settle(): Promise<void>;
  restart(how: 'close' | 'kill'): Promise<void>;
}

/** Longest time for one step. Milliseconds; generous, because tests share their machine. */
const MAX_STEP = 60_000;

/**
 * Plays a sequence and closes its connections. Returns violations of MQTT in the output of the broker, and steps that
 * timed out.
 */
export async function play(sequence: Sequence, stage: Stage): Promise<readonly string[]> {
  const player = new Player(stage);
  const steps: Sequence = [...sequence, { do: 'dropAll' }];
  for (const [index, step] of steps.entries()) {
    if (stage.hasFailed) break;
    if (!(await isDone(player.take(step))))
      return [...player.faults, `step ${index} (${step.do}) is not done in ${MAX_STEP} ms`];
  }
  player.reset();
  return player.faults;
}

async function isDone(work: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, MAX_STEP, false);
  });
  return Promise.race([work.then(() => true), late]).finally(() => clearTimeout(timer));
}

class Player {
  readonly faults: string[] = [];
  readonly #stage: Stage;
  readonly #peers = new Map<number, Peer>();

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'send':
        await this.#send(step);
        if (step.waits) await this.#stage.settle();
        return;
      case 'drop':
        if (step.how === 'end') this.#peers.get(step.on)?.end();
        else this.#peers.get(step.on)?.reset();
        if (step.waits) await this.#stage.settle();
        return;
      case 'dropAll':
        await this.end();
        return;
      case 'restart':
        await this.#stage.restart(step.how);
    }
  }

  /** Resets the connections that are open after a failure. */
  reset(): void {
    for (const peer of this.#peers.values()) peer.reset();
  }

  async end(): Promise<void> {
    await this.#stage.settle();
    for (const peer of this.#peers.values()) peer.end();
    const closed = Promise.all(Array.from(this.#peers.values(), (peer) => peer.closed));
    await Promise.race([closed, this.#stage.settle()]);
    for (const peer of this.#peers.values()) {
      // The broker may wait for the rest of a packet.
      peer.reset();
      await peer.closed;
      this.#note(peer);
    }
    this.#peers.clear();
    // The broker must also process the closed connections.
    await this.#stage.settle();
  }

  async #send({ on, packets, segment, acknowledges = true }: Extract<Step, { do: 'send' }>): Promise<void> {
    const [first] = packets;
    if (!first) return;
    let peer = this.#peers.get(on);
    if (peer && (peer.isClosed || peer.hasEnded)) {
      if (first.type !== 'connect') return;
      this.#note(peer);
      peer = undefined;
    }
    const { port, account } = this.#stage;
    peer ??= new Peer(first, { port, account, acknowledges });
    peer.acknowledges = acknowledges;
    this.#peers.set(on, peer);
    await peer.send(packets, segment);
  }

  #note(peer: Peer): void {
    const fault = peer.fault();
    if (fault !== null) this.faults.push(fault);
  }
}
