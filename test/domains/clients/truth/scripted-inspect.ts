import { setTimeout as delay } from 'node:timers/promises';
import { type ScriptedBroker, startScriptedBroker } from '../../../support/aedes-broker.ts';

/** A broker whose `cedalo/inspect` sends a given number of changes per second, one per event. */
interface ScriptedInspect {
  readonly broker: ScriptedBroker;
  /** Ids of the clients that there are now. */
  readonly clients: ReadonlySet<string>;
  /** Begins to change at this rate; the function ends it and answers how many changes a second it came to. */
  change(perSecond: number): () => Promise<number>;
}

const API = '$CONTROL/cedalo/inspect/v1';
/** Changes are sent in small bursts, as timers allow. */
const TICK_MS = 10;
/** So long that a second of events is more than the buffers of a socket hold. */
const USERNAME = 'a user name '.repeat(100);

const numbered = (number: number) => `client-${String(number).padStart(5, '0')}`;
const summary = (clientid: string, lastConnect: number) => ({
  clientid,
  username: USERNAME,
  address: '127.0.0.1',
  protocol: 'MQTT',
  protocolVersion: 'v5',
  connected: true,
  lastConnect,
  lastDisconnect: null,
});

export async function startScriptedInspect(count: number): Promise<ScriptedInspect> {
  const clients = new Set(Array.from({ length: count }, (_, number) => numbered(number)));
  const since = Date.now();
  let sequence = 0;
  const answerOf = ({ command, correlationData, offset = 0, count: most = -1, verbose }: Command) => {
    if (command !== 'listClients') return { command, correlationData, error: 'Unknown command' };
    const ids = [...clients].sort().slice(offset, most < 0 ? undefined : offset + most);
    const page = verbose ? ids.map((id) => summary(id, since)) : ids;
    return { command, correlationData, data: { totalCount: clients.size, clients: page, sequence } };
  };
  const broker = await startScriptedBroker((topic, payload) => {
    if (topic !== API) return [];
    const { commands } = JSON.parse(payload) as { readonly commands: readonly Command[] };
    return [JSON.stringify({ responses: commands.map(answerOf) })];
  });
  /** One client disconnects or reconnects. One event at a time, because the broker queues a call for each event. */
  const changeOne = () => {
    sequence += 1;
    const clientid = numbered((sequence * 7) % (2 * count));
    const isGone = clients.delete(clientid);
    if (!isGone) clients.add(clientid);
    const [changed, removed] = isGone ? [[], [clientid]] : [[summary(clientid, since)], []];
    const event = { type: 'event', event: 'clientsChanged', sequence, changed, removed };
    return broker.publish(`${API}/response`, JSON.stringify(event));
  };
  return {
    broker,
    clients,
    change: (perSecond) => {
      const startedAt = performance.now();
      let told = 0;
      let isOver = false;
      const run = async () => {
        while (!isOver) {
          const due = ((performance.now() - startedAt) / 1_000) * perSecond;
          for (; told < due; told++) await changeOne();
          await delay(TICK_MS);
        }
      };
      const running = run();
      return async () => {
        const seconds = (performance.now() - startedAt) / 1_000;
        isOver = true;
        await running;
        return told / seconds;
      };
    },
  };
}

interface Command {
  readonly command: string;
  readonly correlationData?: string;
  readonly verbose?: boolean;
  readonly count?: number;
  readonly offset?: number;
}
