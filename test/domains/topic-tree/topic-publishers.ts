import type { MqttClient } from 'mqtt';
import type { Random } from '../clients/truth/random.ts';
import type { TopicTarget } from './topic-targets.ts';
import type { TrueTopics, Use } from './true-topics.ts';

/** The recorder is asked so often for the mark that everything before it was recorded: it gives no sign. */
const LOOK_MS = 15;

/** Names of levels: many share a parent, some are empty, some sort by their code units only. */
const NAMES = [
  'a',
  'b',
  'B',
  'line-1',
  'line-10',
  'line-2',
  '',
  ' ',
  'é',
  '\u{1f321}',
  '\uffee',
  'ab',
  'a-b',
  '$in',
  'temperature',
];

/** Different topics of one to six levels, more of them short names than of any other. */
export function randomTopics(random: Random, count: number, root: string): string[] {
  const topics = new Set<string>();
  while (topics.size < count) {
    const levels = Array.from({ length: 1 + random.below(5) }, () =>
      random.chance(0.3) ? `device-${random.below(count)}` : random.pick(NAMES),
    );
    topics.add(random.chance(0.1) ? [root, ...levels, ''].join('/') : [root, ...levels].join('/'));
  }
  return [...topics];
}

interface TopicPublisherParts {
  readonly client: MqttClient;
  readonly name: string;
  readonly target: Pick<TopicTarget, 'query' | 'reportsQos'>;
  readonly truth: TrueTopics;
  readonly random: Random;
}

/**
 * A client that publishes to its own topics. It notes each message, and the time by which the recorder must have
 * received it: the broker sends the mark, which is published last, after the messages.
 */
export class TopicPublisher {
  readonly #parts: TopicPublisherParts;
  readonly #mark: string;
  #marks = 0;

  constructor(parts: TopicPublisherParts) {
    this.#parts = parts;
    this.#mark = `marks/${parts.name}`;
  }

  /** One message on each of these topics, which are different ones; done when the recorder has seen all of them. */
  async publish(topics: readonly string[]): Promise<void> {
    const { client, target, truth, random } = this.#parts;
    const uses: Use[] = [];
    const send = (topic: string, qos: 0 | 1 | 2, retain: boolean, payload: Buffer): Promise<unknown> => {
      const seenQos = target.reportsQos ? qos : 0;
      const use: Use = { sent: Date.now(), settled: Number.POSITIVE_INFINITY, qos: seenQos, retain, payload };
      uses.push(use);
      truth.add(topic, use);
      return client.publishAsync(topic, payload, { qos, retain });
    };
    await Promise.all(
      topics.map((topic) => {
        const payload = Buffer.from(`${random.below(1_000)} `.repeat(1 + random.below(8)));
        return send(topic, random.below(3) as 0 | 1 | 2, random.chance(0.1), payload);
      }),
    );
    const mark = Buffer.from(String(this.#marks++));
    await send(this.#mark, 0, false, mark);
    while ((await this.#lastMark()) !== mark.toString('base64')) await new Promise((go) => setTimeout(go, LOOK_MS));
    const settled = Date.now();
    for (const use of uses) use.settled = settled;
  }

  async #lastMark(): Promise<string | undefined> {
    return (await this.#parts.target.query('topic', { kind: 'PUBLISHED', topic: this.#mark }))?.payload?.data;
  }
}
