import type { IPublishPacket } from 'mqtt-packet';
import { onTestFinished } from 'vitest';
import { MqttWire } from '../../../support/mqtt-wire.ts';

/** Messages that are on their way through the stream at once: no queue of a broker grows. */
export const WINDOW = 1_000;

interface Repeat {
  /** Its number. */
  readonly n: number;
  /** How many different ones had come before it. */
  readonly after: number;
}

/**
 * Messages 0, 1, 2, … published at QoS 1, and their results on another topic, checked one by one. Stores each duplicate
 * number, and the first one that arrives too early.
 */
export class NumberedTraffic {
  readonly repeats: Repeat[] = [];
  /** The first number that came while a smaller one had not: something was lost, or overtaken. */
  gap: { readonly n: number; readonly expected: number } | null = null;
  #sent = 0;
  #acknowledged = 0;
  #seen = 0;
  #goal = 0;
  readonly #waiting = new Set<() => void>();
  readonly #sender: MqttWire;
  readonly #source: string;

  private constructor(sender: MqttWire, source: string) {
    this.#sender = sender;
    this.#source = source;
  }

  static async start(port: number, source: string, target: string): Promise<NumberedTraffic> {
    const sender = await MqttWire.open(port, 'traffic-sender');
    const receiver = await MqttWire.open(port, 'traffic-receiver');
    onTestFinished(async () => {
      await sender.close();
      await receiver.close();
    });
    await receiver.subscribe(target, 0);
    const traffic = new NumberedTraffic(sender, source);
    sender.hear(({ cmd }) => {
      if (cmd === 'puback') traffic.#acknowledge();
    });
    receiver.hear((packet) => {
      if (packet.cmd === 'publish') traffic.#take(packet);
    });
    return traffic;
  }

  /** Different numbers that have come. */
  get seen(): number {
    return this.#seen;
  }

  /** Publishes until so many have been published in all. */
  publishUpTo(count: number): void {
    this.#goal = count;
    this.#fill();
  }

  /** No more; answers how many were published. */
  stop(): number {
    this.#goal = this.#sent;
    return this.#sent;
  }

  /** Resolves when so many have come, and as many were acknowledged to their publisher. */
  until(count: number): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (this.#seen < count || this.#acknowledged < count) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }

  #fill(): void {
    const end = Math.min(this.#goal, this.#seen + WINDOW);
    if (this.#sent >= end || (end < this.#goal && end - this.#sent < WINDOW / 4)) return;
    this.#sender.together(() => {
      for (; this.#sent < end; this.#sent += 1) {
        const payload = `{"n":${this.#sent},"device":"pump-${this.#sent % 100}","value":${this.#sent % 977}}`;
        const messageId = 1 + (this.#sent % 65_535);
        this.#sender.send({
          cmd: 'publish',
          topic: this.#source,
          payload,
          qos: 1,
          messageId,
          dup: false,
          retain: false,
        });
      }
    });
  }

  #acknowledge(): void {
    this.#acknowledged += 1;
    if (this.#acknowledged === this.#sent) this.#look();
  }

  #take({ payload }: IPublishPacket): void {
    const { n } = JSON.parse(payload.toString());
    if (n < this.#seen) this.repeats.push({ n, after: this.#seen });
    else if (n > this.#seen) this.gap ??= { n, expected: this.#seen };
    else {
      this.#seen += 1;
      this.#fill();
      this.#look();
    }
  }

  #look(): void {
    for (const look of this.#waiting) look();
  }
}
