import { type ScriptedBroker, startScriptedBroker } from '../../../support/aedes-broker.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A broker that answers `cedalo/topictree` as the commercial plugin documents it, and knows no other command. */
interface CommercialTopics extends ScriptedBroker {
  /** Payloads by topic. */
  readonly published: Map<string, string>;
  readonly subscribed: Set<string>;
  /** Commands that change something, oldest first. */
  readonly changes: Fields[];
}

export async function startCommercialTopics(): Promise<CommercialTopics> {
  const published = new Map<string, string>();
  const subscribed = new Set<string>();
  const changes: Fields[] = [];
  let ttl = 60;
  let limits = { publishLimit: 50_000, subscribeLimit: 50_000, payloadLimit: 1_000 };
  const filters: string[] = [];
  const execute = (fields: Fields): Fields => {
    const { command, count = -1, offset = 0 } = fields;
    const pageOf = <T>(all: readonly T[]) =>
      all.slice(Number(offset), Number(count) < 0 ? undefined : Number(offset) + Number(count));
    if (/^(set|add|remove|clear)/.test(String(command))) changes.push(fields);
    switch (command) {
      case 'topicCount':
        return { data: { publishCount: published.size, subscribeCount: subscribed.size } };
      case 'listTopics':
        return {
          data: {
            publishTopics: {
              count: published.size,
              data: pageOf([...published].map(([topic, payload]) => ({ topic, payload }))),
            },
            subscribeTopics: { count: subscribed.size, data: pageOf([...subscribed].map((topic) => ({ topic }))) },
          },
        };
      case 'getTtl':
        return { data: { ttl } };
      case 'setTtl':
        ttl = Number(fields.ttl);
        return {};
      case 'getLimits':
        return { data: limits };
      case 'setLimits':
        limits = { ...limits, ...fields };
        return {};
      case 'listFilters':
        return { data: { filters } };
      case 'addFilter':
        filters.push(String(fields.filter));
        return {};
      default:
        return { error: 'Unknown command' };
    }
  };
  const broker = await startScriptedBroker((topic, payload) => {
    if (topic !== '$CONTROL/cedalo/topictree/v1') return ['{"error":"endpoint not available"}'];
    const { commands } = JSON.parse(payload) as { commands: Fields[] };
    const responses = commands.map(({ correlationData, ...fields }) => ({
      command: fields.command,
      correlationData,
      ...execute(fields),
    }));
    return [JSON.stringify({ responses })];
  });
  return { ...broker, published, subscribed, changes };
}
