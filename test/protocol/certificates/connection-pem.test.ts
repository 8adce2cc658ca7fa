import { connect, createServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { certificatesProblem, plainPem, privateKeyProblem } from '../../../src/protocol/certificates/connection-pem.ts';
import { connectOptions } from '../../../src/protocol/mqtt/connect-options.ts';
import { createAuthority } from '../../support/certificates.ts';

const INVALID = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';

test('each certificate of a bundle is checked, not only the first one', () => {
  const [one, other] = [createAuthority(), createAuthority()];
  expect(certificatesProblem(one.leaf + other.leaf)).toBeNull();
  const large = createAuthority({ key: 'rsa-8256' });
  expect(certificatesProblem(one.leaf + large.leaf)).toMatch(
    /^contains a certificate at position 2 that has a key of 8/,
  );
  const exponent = createAuthority({ key: 'rsa-exponent' });
  expect(certificatesProblem(one.leaf + exponent.leaf)).toMatch(/^contains .* position 2 that has a key whose public /);
  expect(privateKeyProblem(exponent.key)).toBe('has a key whose public exponent has more than 32 bits');
  expect(certificatesProblem(one.leaf + INVALID + other.leaf)).toBe('contains an invalid certificate at position 2');
  expect(certificatesProblem(one.leaf + other.key)).toBe('contains a PRIVATE KEY, which is not a certificate');
  expect(certificatesProblem(one.leaf + other.leaf.slice(0, 200))).toMatch(/begins in line \d+ and has no end/);
  expect(certificatesProblem(INVALID.repeat(1_001))).toBe('must contain at most 1000 certificates');
  expect(certificatesProblem('none')).toMatch('is not PEM');
});

test.each<[string, (pem: string) => string]>([
  ['a byte order mark', (pem) => `\ufeff${pem}`],
  ['CRLF', (pem) => pem.replaceAll('\n', '\r\n')],
  ['CR', (pem) => pem.replaceAll('\n', '\r')],
  ['indentation', (pem) => pem.replace(/^/gm, '  ')],
  ['text around the blocks', (pem) => `subject=one\n${pem}\n# end\n`],
])('a bundle with %s has all its authorities', async (_name, spelled) => {
  const [one, other] = [createAuthority(), createAuthority()];
  const ca = spelled(one.leaf + other.leaf);
  expect(certificatesProblem(ca)).toBeNull();
  for (const authority of [one, other]) {
    const { cert, key } = authority.issue();
    const server = createServer({ cert: plainPem(spelled(cert)), key }, (socket) => socket.end());
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const options = connectOptions({ url: `mqtts://127.0.0.1:${port}`, ca });
    await new Promise<void>((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', ca: options.ca as Buffer }, () =>
        resolve(socket.destroy() as never),
      );
      socket.on('error', reject);
    });
  }
});
