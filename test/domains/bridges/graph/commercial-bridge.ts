import { type ScriptedBroker, startScriptedBroker } from '../../../support/aedes-broker.ts';

type Fields = Readonly<Record<string, unknown>>;

export const MONGO_CONFIG = {
  version: 'v1',
  connections: [
    {
      name: 'm1',
      connection: {
        hostname: 'mongo.example',
        port: 27017,
        database: 'plant',
        credentials: { username: 'bridge', password: 'the mongo password' },
      },
      options: { maxQueuedMessages: 100 },
      topicMappings: [{ name: 't1', target: 'values', mqttTopics: ['plant/#'] }],
    },
    {
      name: 'm2',
      connection: { connectionURI: 'mongodb://bridge:another%20secret@two.example/plant' },
      topicMappings: [],
    },
  ],
} as const;

export interface CommercialBridge extends ScriptedBroker {
  config: unknown;
  status: unknown;
  schema: unknown;
  /** How `updateConfig` is refused; null: it is taken. */
  refusal: string | null;
  /** What comes instead of an answer's data. */
  odd: unknown;
  /** Topics of requests, each once. */
  readonly asked: ReadonlySet<string>;
}

const MONGO = '$CONTROL/cedalo/mongodb-bridge/v1';

/**
 * A broker with a license and a bridge to MongoDB, which returns its secrets. `plugins`: it lists its plugins.
 * `answersElsewhere`: on the response topic that the documentation prints in its table.
 */
export async function startCommercialBridge({
  plugins = true,
  features = ['mongodb-bridge'],
  answersElsewhere = false,
} = {}): Promise<CommercialBridge> {
  const asked = new Set<string>();
  const state = {
    config: MONGO_CONFIG as unknown,
    status: [{ connectionName: 'm1', queuedMessages: 3, isConnected: true }] as unknown,
    schema: { type: 'object', properties: { connections: { type: 'array' } } } as unknown,
    refusal: null as string | null,
    odd: undefined as unknown,
  };
  const execute = (topic: string, { command, configChange }: Fields): Fields => {
    if (topic === '$CONTROL/cedalo/license/v1') {
      return { data: { edition: 'pro', features: features.map((name) => ({ name, version: '1' })) } };
    }
    if (topic === '$CONTROL/broker/v1') {
      return { data: { plugins: [{ name: 'mongo', 'control-endpoints': [MONGO] }, { name: 1 }, null] } };
    }
    if (state.odd !== undefined && command !== 'updateConfig') return { data: state.odd };
    if (command === 'getSchema') return { data: state.schema };
    if (command === 'getConfig') return { data: state.config };
    if (command === 'getStatus') return { data: state.status };
    if (command !== 'updateConfig') return { error: 'Unknown command' };
    if (state.refusal !== null) return { error: state.refusal };
    state.config = configChange;
    return { data: { response: 'SUCCESS' } };
  };
  const broker = await startScriptedBroker((topic, payload) => {
    asked.add(topic);
    const served = [MONGO, '$CONTROL/cedalo/license/v1', ...(plugins ? ['$CONTROL/broker/v1'] : [])];
    if (!served.includes(topic)) return ['{"error":"endpoint not available"}'];
    const { commands } = JSON.parse(payload) as { commands: Fields[] };
    const responses = commands.map((fields) => ({
      command: fields.command,
      correlationData: fields.correlationData,
      ...execute(topic, fields),
    }));
    const answer = JSON.stringify({ responses });
    if (!answersElsewhere || topic !== MONGO) return [answer];
    void broker.publish('$CONTROL/cedalo/mongo-db/v1/response', answer);
    return [];
  });
  return Object.assign(state, broker, { asked });
}
