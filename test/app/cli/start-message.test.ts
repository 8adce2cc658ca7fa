import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startMessage } from '../../../src/app/cli/serve.ts';
import { BUILD } from '../../../src/platform/build.ts';
import { temporaryFolder } from '../../support/database.ts';
import { startTestService } from '../../support/service.ts';

test('a broker keeps its ports, and the start message lists the settings that do not apply', async () => {
  const folder = { embeddedBroker: true, dataDir: temporaryFolder() };
  const first = await startTestService({ ...folder, env: { MQTT_TLS_PORT: '0', MQTT_WSS_PORT: '0' } });
  expect(startMessage(first.report)).toMatch(/ mqtts:\/\/127.0.0.1:[1-9]\d+ .*\n +wss:\/\/127.0.0.1:[1-9]/);
  expect(startMessage(first.report)).toContain(`Version   ${BUILD.version} (commit unknown, built unknown)`);
  expect(first.report.unusedPorts).toEqual([]);
  expect(startMessage(first.report)).not.toContain('MQTT_');
  const { url, wsUrl } = first.report.mqtt ?? {};
  await first.close();
  const again = await startTestService(folder);
  expect(again.report).toMatchObject({ mqtt: { url, wsUrl }, unusedPorts: [], mqttProblem: null });
  await again.close();
  const env = { MQTT_PORT: '1', MQTT_WS_PORT: '2', DATABASE_URL: first.config.databaseUrl ?? '' };
  const second = await startTestService({ ...folder, env });
  expect(second.report.mqtt).toMatchObject({ url, wsUrl });
  expect(startMessage(second.report)).toContain('(not MQTT_PORT=1 and MQTT_WS_PORT=2: a broker keeps its ports');
  await second.close();
  const port = Number(new URL(url ?? '').port);
  const program = createServer().listen(port, '127.0.0.1');
  onTestFinished(() => void program.close());
  await once(program, 'listening');
  const third = await startTestService(folder);
  expect(third.report.mqtt).toBeNull();
  expect(startMessage(third.report)).toMatch(
    new RegExp(`MQTT {6}does not run, and is tried again: .*port ${port} is in use by .+ \\(process ${process.pid}\\)`),
  );
  const report = { ...third.report, rootPassword: { email: 'a@example.com', generated: 'the first one' } };
  expect(startMessage(report)).toContain('Sign in as a@example.com with the password the first one');
  // For a file of the log.
  expect(startMessage(report, '/data/first-password')).toContain('with the password in ');
  expect(startMessage(report, '/data/first-password')).not.toContain('the first one');
});
