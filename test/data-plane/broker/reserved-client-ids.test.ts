import { expect, test } from 'vitest';
import { connectedLink, reached } from '../../support/link.ts';
import { ADMINISTRATOR, connect, control, startBrokerHere } from './embedded.ts';

const BARE = { username: 'bare', password: 'secret' };

test.each([4, 5] as const)('client ids of the service are refused to other accounts in version %s', async (version) => {
  const { mqttPort } = await startBrokerHere();
  await control(await connect(mqttPort), 'dynamic-security', {
    commands: [{ command: 'createClient', ...BARE }],
  });
  const link = await connectedLink({ url: `mqtt://127.0.0.1:${mqttPort}`, ...ADMINISTRATOR });
  const lost: string[] = [];
  link.onStatus(({ state }) => lost.push(state));
  const code = version === 5 ? 0x85 : 2;
  for (const clientId of [link.clientId, 'brokergraph-test-bridge-1', 'brokergraph-test-streams', 'brokergraph-test-'])
    await expect(
      connect(mqttPort, { ...BARE, clientId, protocolVersion: version, clean: false }),
    ).rejects.toMatchObject({ code });
  expect(lost).toEqual([]);
  // The service's own account may use them, as may everybody those of other brokers.
  await connect(mqttPort, { clientId: 'brokergraph-test-bridge-1', protocolVersion: version });
  for (const clientId of ['brokergraph-other-bridge-1', 'brokergraph-tes', 'test'])
    await connect(mqttPort, { ...BARE, clientId, protocolVersion: version });
  // The link itself goes on with another client id if its own account is used elsewhere.
  const again = reached(link, 'UNREACHABLE').then(() => reached(link, 'CONNECTED'));
  await connect(mqttPort, { clientId: link.clientId, protocolVersion: version });
  await again;
});
