import { expect, test } from 'vitest';
import { createAuthority } from '../../support/certificates.ts';
import { startTestService } from '../../support/service.ts';

const PREVIEW = `query ($cert: String!) {
  previewCertificate(cert: $cert) { subject issuer subjectAltNames validTo fingerprint256 isAuthority }
}`;

const root = createAuthority({ name: 'Plant' });
const server = root.issue({ name: 'broker' });
const expired = root.issue({ name: 'old', to: new Date(Date.now() - 1_000) });

test('a certificate is previewed with its names and expiry, also if it has expired, and is not stored', async () => {
  const service = await startTestService();
  const { token } = await service.person('VIEWER');
  const { data } = await service.graphql(PREVIEW, { cert: server.cert }, token);
  expect(data.previewCertificate).toEqual({
    subject: 'CN=broker',
    issuer: 'CN=Plant',
    subjectAltNames: ['DNS:localhost', 'IP:127.0.0.1'],
    validTo: expect.stringMatching(/Z$/),
    fingerprint256: server.fingerprint256,
    isAuthority: false,
  });
  const old = await service.graphql(PREVIEW, { cert: expired.cert }, token);
  expect(old.data.previewCertificate.fingerprint256).toBe(expired.fingerprint256);
  expect(await service.storage.db.certificate.count()).toBe(0);
});

test('a text that is too long, or has too many certificates, is INVALID', async () => {
  const service = await startTestService();
  for (const cert of [server.cert + 'x'.repeat(100_000), server.cert + root.cert.repeat(20)]) {
    const { errors } = await service.graphql(PREVIEW, { cert });
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'INVALID', info: { issues: [{ path: 'cert' }] } });
  }
});

test('a text without a certificate or with a key that is too large is INVALID, and a caller without credentials is UNAUTHORIZED', async () => {
  const service = await startTestService();
  const large = createAuthority({ key: 'rsa-exponent' });
  for (const cert of [
    '',
    'certificate',
    large.cert,
    `${large.issue().leaf}${large.cert}`,
    server.key,
    `${root.cert}${server.cert}`,
  ]) {
    const { errors } = await service.graphql(PREVIEW, { cert });
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'INVALID', info: { issues: [{ path: 'cert' }] } });
  }
  const { errors } = await service.graphql(PREVIEW, { cert: server.cert }, null);
  expect(errors?.[0]?.extensions.code).toBe('UNAUTHORIZED');
});
