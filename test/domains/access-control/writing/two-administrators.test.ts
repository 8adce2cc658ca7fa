import { expect, test } from 'vitest';
import { ADMIN, startClient, startMosquitto } from '../../../support/mosquitto.ts';
import { openWriting } from './written-access.ts';

test('outcomes are correct while another administrator sends malformed commands', async () => {
  const broker = await startMosquitto({ access: 'dynsec' });
  const writing = await openWriting(broker.url);
  const other = await startClient(broker.url, ADMIN);
  let isOver = false;
  const disturb = async () => {
    while (!isOver) {
      for (const junk of ['{"commands":[{}]}', 'no JSON', '{"commands":5}', '{"commands":[7]}']) {
        await other.publishAsync('$CONTROL/dynamic-security/v1', junk, { qos: 1 });
      }
    }
  };
  const disturbing = disturb();
  try {
    for (let n = 0; n < 10; n++) {
      const report = await writing.apply(
        ...[0, 1, 2].map((m) => ({ kind: 'PUT_ROLE', roleName: `r${n}-${m}`, mode: 'CREATE', fields: {} }) as const),
      );
      expect(report.outcome).toBe('APPLIED');
    }
  } finally {
    isOver = true;
    await disturbing;
  }
});
