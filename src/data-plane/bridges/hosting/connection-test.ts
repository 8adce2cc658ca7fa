import { isOfReachability } from '../../../protocol/mqtt/link-failure.ts';
import type { TrustedConnection } from '../model/bridge-kind.ts';
import type { ConnectionTest, ConnectionTestOptions } from '../model/connection-test.ts';
import type { MqttConnectionConfig } from '../mqtt/mqtt-bridge-config.ts';
import type { PostgresqlConnectionConfig } from '../postgresql/postgresql-config.ts';
import { type Sink, SinkFailure } from '../sink/sink.ts';
import type { WebhookConnectionConfig } from '../webhook/webhook-config.ts';

type TestConnection = (connection: TrustedConnection, options: ConnectionTestOptions) => Promise<ConnectionTest>;

/** Tests of a connection by the kind of its bridge; the module of a kind is loaded with its first test. */
const TESTS: Readonly<Record<string, TestConnection>> = {
  'mqtt-bridge': async (config, options) => {
    const { testMqttConnection } = await import('../mqtt/mqtt-connection-test.ts');
    return testMqttConnection(config as MqttConnectionConfig, options);
  },
  'postgresql-bridge': async (config, { rules, timeoutMs }) => {
    const { PostgresqlSink } = await import('../postgresql/postgresql-sink.ts');
    return testSink(new PostgresqlSink(config as PostgresqlConnectionConfig, rules), timeoutMs);
  },
  'webhook-bridge': async (config, options) => {
    const { WebhookSink } = await import('../webhook/webhook-sink.ts');
    return testSink(new WebhookSink(config as WebhookConnectionConfig, options), options.timeoutMs);
  },
};

/**
 * Connects to the other side of a connection as a bridge does, and changes nothing there. The configuration must be
 * valid for the kind.
 */
export function testConnection(
  bridgeId: string,
  connection: TrustedConnection,
  options: ConnectionTestOptions,
): Promise<ConnectionTest> {
  const test = TESTS[bridgeId];
  if (test === undefined) throw new Error(`unknown kind of bridge: ${bridgeId}`);
  return test(connection, options);
}

async function testSink(sink: Sink, timeoutMs: number): Promise<ConnectionTest> {
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    void sink.close();
  }, timeoutMs);
  try {
    return { ...REACHED, ...(await sink.test()) };
  } catch (error) {
    if (!(error instanceof SinkFailure)) throw error;
    const { state, message, cause } = error;
    if (isLate) return unreached(`No response within ${timeoutMs} ms`);
    if (state === 'UNREACHABLE' && isOfReachability(cause)) return unreached(message);
    return { state, error: message, openError: message, responseStatus: null };
  } finally {
    clearTimeout(timer);
    await sink.close();
  }
}

const REACHED = { state: 'CONNECTED', error: null, openError: null } as const;
const HIDDEN = 'The server cannot be reached: administrators of the project see the reason';

const unreached = (error: string) =>
  ({ state: 'UNREACHABLE', error, openError: HIDDEN, responseStatus: null }) as const;
