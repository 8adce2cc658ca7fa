import { expect, test } from 'vitest';
import { createAuthority } from '../../support/certificates.ts';
import { certificateWorld } from './certificate-world.ts';

const DAY_MS = 86_400_000;

test('metrics contain the days left of each certificate, and whether it is deployed', async () => {
  const world = await certificateWorld();
  const id = await world.store('ca.pem', createAuthority({ to: new Date(Date.now() + 10 * DAY_MS) }).cert);
  const text = await (await fetch(`${world.service.url}/metrics`)).text();
  expect(text).toContain('brokergraph_certificates{deployed="false"} 1');
  const days = new RegExp(`^brokergraph_certificate_days_left\\{certificate="${id}",deployed="false"\\} (.+)$`, 'm');
  expect(Number(days.exec(text)?.[1])).toBeCloseTo(10, 1);
});
