import { withoutNulls } from '../../../platform/without-nulls.ts';
import { BrokerLink } from '../../../protocol/mqtt/broker-link.ts';
import { SILENT } from '../../../protocol/mqtt/link-failure.ts';
import { awayReason, whenConnected } from '../../../protocol/mqtt/when-connected.ts';
import type { ConnectionTest, ConnectionTestOptions } from '../model/connection-test.ts';
import { type MqttConnectionConfig, remoteAddress } from './mqtt-bridge-config.ts';

/** Connects in a session that ends with the test. Subscribes to nothing. */
export async function testMqttConnection(
  config: MqttConnectionConfig,
  { brokerId: id, group, rules, timeoutMs, readingLimits, usedClientIds }: ConnectionTestOptions,
): Promise<ConnectionTest> {
  const clientId = config.clientId !== undefined && usedClientIds.has(config.clientId) ? undefined : config.clientId;
  const session = { sessionExpirySeconds: 0, ...withoutNulls({ clientId }) };
  const link = new BrokerLink({ id, group, timeoutMs, readingLimits, ...remoteAddress(config, rules), ...session });
  link.open();
  try {
    await whenConnected(link, timeoutMs).catch(() => undefined);
    const { status } = link;
    if (status.state === 'CONNECTED')
      return { state: status.state, error: null, openError: null, responseStatus: null };
    const { lastError = SILENT } = status;
    return {
      state: status.state === 'UNAUTHORIZED' ? 'UNAUTHORISED' : 'UNREACHABLE',
      error: lastError,
      openError: awayReason({ ...status, lastError }),
      responseStatus: null,
    };
  } finally {
    await link.close();
  }
}
