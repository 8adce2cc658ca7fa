import type { MqttClient } from 'mqtt';

/** Messages of a side are `restarts/<side>`, with a text of their own each; the last of them begins with `end`. */
export interface Tally {
  /** Different messages of that side, without its end. */
  own(side: string): number;
  /** With those that came more than once. */
  all(side: string): number;
  /** Of all, those that have passed a bridge. */
  passed(side: string): number;
  untilAll(side: string, count: number): Promise<void>;
  end(side: string): Promise<void>;
  onHeard(listener: () => void): void;
}

/** Subscribed to `filter` when it resolves. `mark`: name of the user property (MQTT 5) of what has passed a bridge. */
export async function startTally(client: MqttClient, filter: string, mark: string): Promise<Tally> {
  const sides = new Map<string, { texts: Set<string>; all: number; passed: number; isEnded: boolean }>();
  const of = (side: string) => {
    const known = sides.get(side) ?? { texts: new Set(), all: 0, passed: 0, isEnded: false };
    sides.set(side, known);
    return known;
  };
  const listeners = new Set<() => void>();
  const until = (isSo: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!isSo()) return;
        listeners.delete(look);
        resolve();
      };
      listeners.add(look);
      look();
    });
  client.on('message', (topic, payload, { properties }) => {
    const side = of(topic.slice(topic.lastIndexOf('/') + 1));
    const text = payload.toString();
    if (text.startsWith('end')) side.isEnded = true;
    else {
      side.texts.add(text);
      side.all += 1;
      if (Object.hasOwn(properties?.userProperties ?? {}, mark)) side.passed += 1;
    }
    for (const listener of [...listeners]) listener();
  });
  await client.subscribeAsync(filter, { qos: 1 });
  return {
    own: (side) => of(side).texts.size,
    all: (side) => of(side).all,
    passed: (side) => of(side).passed,
    untilAll: (side, count) => until(() => of(side).texts.size >= count),
    end: (side) => until(() => of(side).isEnded),
    onHeard: (listener) => void listeners.add(listener),
  };
}
