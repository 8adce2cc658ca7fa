import { expect, test } from 'vitest';
import { BUILD } from '../../../src/platform/build.ts';
import { startTestService } from '../../support/service.ts';

const LIST =
  'query { processes { processId host version commit builtAt role startedAt isAlive isDraining isSelf brokerCount messagesPerSecond } }';
const DRAIN = 'mutation ($input: DrainProcessInput!) { drainProcess(input: $input) { process { isDraining } } }';

test('a service alone is listed for root administrators, and has no other process to give its brokers to', async () => {
  const service = await startTestService();
  const [process, ...others] = (await service.graphql(LIST)).data.processes;
  expect(others).toEqual([]);
  expect(process).toMatchObject({
    processId: expect.stringMatching(/^prc_/),
    version: BUILD.version,
    // Tests run the sources.
    commit: null,
    builtAt: null,
    role: 'ALL',
    isAlive: true,
    isSelf: true,
  });
  const only = service.storage.engine === 'sqlite';
  expect([process.brokerCount, process.messagesPerSecond]).toEqual(only ? [null, null] : [0, 0]);
  const drained = await service.graphql(DRAIN, { input: { processId: process.processId } });
  if (only) {
    const issue = { path: 'input.processId', reason: expect.stringMatching(/is the only process/) };
    expect(drained.errors?.[0]?.extensions).toMatchObject({ code: 'INVALID', info: { issues: [issue] } });
  } else expect(drained.data.drainProcess.process.isDraining).toBe(true);
  const unknown = await service.graphql(DRAIN, { input: { processId: 'prc_unknown' } });
  expect(unknown.errors?.[0]?.extensions.code).toBe('NOT_FOUND');

  const { token } = await service.person('ADMIN');
  for (const document of [LIST, DRAIN]) {
    const variables = { input: { processId: process.processId } };
    expect((await service.graphql(document, variables, token)).errors?.[0]?.extensions.code).toBe('NOT_ALLOWED');
  }
});
