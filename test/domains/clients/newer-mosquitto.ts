import { onTestFinished } from 'vitest';
import { clientControlPlugin } from '../../../src/domains/clients/control/client-control-plugin.ts';
import { inspectPluginFactory } from '../../../src/domains/clients/inspect/inspect-plugin.ts';
import { BrokerControls } from '../../../src/protocol/control/broker-controls.ts';
import { startScriptedBroker } from '../../support/aedes-broker.ts';
import { connectedLink } from '../../support/link.ts';

interface Command {
  readonly command: string;
  readonly correlationData: string;
  readonly username?: string;
}

/**
 * Says what Mosquitto 2.1 says, of clients that are lines in its log. `reports` has the response data of the API
 * `broker` by command. Without it the broker does not serve that API.
 */
export async function startNewerMosquitto(reports: Readonly<Record<string, unknown>> | null = null) {
  /** By user name: sessions, as `getClient` lists them. */
  const sessions = new Map<string, number>();
  const ends = new Map<string, string>();
  const broker = await startScriptedBroker((topic, payload) => {
    const { commands } = JSON.parse(payload) as { commands: Command[] };
    if (topic === '$CONTROL/broker/v1' && reports !== null) {
      const responses = commands.map(({ command, correlationData }) => {
        return { command, correlationData, data: reports[command] ?? {} };
      });
      return [JSON.stringify({ responses })];
    }
    if (topic !== '$CONTROL/dynamic-security/v1') return [];
    const responses = commands.map(({ command, correlationData, username = '' }) => {
      const line = ends.get(username);
      if (command === 'modifyClient' && line !== undefined) void say(line);
      const connections = Array.from({ length: sessions.get(username) ?? 0 }, () => ({ address: '10.0.0.1' }));
      return { command, correlationData, data: { client: { username, connections } } };
    });
    return [JSON.stringify({ responses })];
  });
  const say = (line: string) => broker.publish('$SYS/broker/log/N', line);
  const link = await connectedLink({ url: broker.url, sessionExpirySeconds: 0, username: 'us' });
  const knock = link.knock.bind(link);
  link.knock = async () => {
    const clientId = await knock();
    await say(`New client connected from 10.0.0.2:1 as ${clientId} (p5, c1, k60, u'us').`);
    await say(`Client ${clientId} [10.0.0.2:1] disconnected.`);
    return clientId;
  };
  const controls = new BrokerControls(link, {
    timeoutMs: 30_000,
    // Longer than a busy machine delays the responses of the scripted broker.
    silenceMs: 500,
    plugins: [inspectPluginFactory({ lineTimeoutMs: 2_000 }), clientControlPlugin],
  });
  onTestFinished(() => controls.close());
  await controls.capability('cedalo/client-control');
  const connect = (id: string, username: string, port: number) =>
    say(`New client connected from 10.0.0.1:${port} as ${id} (p5, c0, k60, u'${username}').`);
  const count = (connected: number) => broker.publish('$SYS/broker/clients/connected', String(connected));
  return { broker, link, controls, sessions, ends, say, connect, count };
}
