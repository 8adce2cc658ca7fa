import { generateKeyPairSync } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createAuthority, createSelfSigned, type TestCertificate } from '../../support/certificates.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { startBrokerProcess } from './broker-process.ts';
import { connect, useTestBroker } from './embedded.ts';
import { certificateCommands, MQTTS, MUTUAL, PLAIN, SUCCESS, servedBy, TLS_LISTENERS, WSS } from './tls.ts';

const CA = createAuthority();
const SERVER = CA.issue();

describe('on one broker', () => {
  const shared = useTestBroker({ listeners: TLS_LISTENERS });
  /** With a server certificate and an authority on MQTTS, whatever test comes first. */
  const commands = async () => {
    const commands = certificateCommands(await connect(shared().mqttPort));
    await commands.setServer(MQTTS, SERVER);
    await commands.insertCa(MQTTS, CA);
    return commands;
  };
  const portOf = (number: number) => shared().listeners.find((one) => one.number === number)?.port ?? 0;

  const hour = 3_600_000;
  const encrypted = () =>
    generateKeyPairSync('ec', { namedCurve: 'P-256' })
      .privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' })
      .toString();
  const expired = () => CA.issue({ from: new Date(Date.now() - 2 * hour), to: new Date(Date.now() - hour) });

  test.each<[string, () => Partial<TestCertificate>, RegExp]>([
    ['a key of another certificate', () => ({ key: CA.issue().key }), /^The private key does not belong to the certif/],
    ['an expired certificate', expired, /^The certificate expired on \d{4}-/],
    [
      'one that is not valid yet',
      () => CA.issue({ from: new Date(Date.now() + hour) }),
      /^The certificate is not valid bef/,
    ],
    ['text that is not PEM', () => ({ cert: 'certificate' }), /^The certificate is not PEM/],
    ['a key that is no PEM', () => ({ key: 'key' }), /not PEM/],
    ['an encrypted key', () => ({ key: encrypted() }), /^The private key is encrypted/],
    ['a short RSA key', () => CA.issue({ key: 'rsa-1024' }), /^The certificate is weak/],
    ['a signature with SHA-1', () => CA.issue({ digest: 'sha1' }), /^The certificate is weak/],
    [
      'two certificates that are no chain',
      () => ({ cert: SERVER.leaf + createSelfSigned().leaf }),
      /^The certificate contains 2/,
    ],
  ])('%s is refused as a server certificate, and the one before goes on being served', async (_name, bad, reason) => {
    const { setServer, run } = await commands();
    const before = await run('listCertificates');
    const refusal = await setServer(MQTTS, { ...SERVER, ...bad() }, 'bad.pem');
    expect(String(refusal).replace('error: ', '')).toMatch(reason);
    expect(await run('listCertificates')).toEqual(before);
    expect(await servedBy(portOf(MQTTS))).toBe(SERVER.fingerprint256);
  });

  test.each<[string, string, object, string | RegExp]>([
    ['an unknown listener', 'deleteCACertificate', { listener_id: 99 }, 'Listener not found'],
    ['a listener by a text', 'deleteCACertificate', { listener_id: '2' }, 'Invalid/missing listener_id'],
    [
      'a listener without TLS',
      'removeServerCertificate',
      { listener_id: PLAIN },
      'TLS is not enabled on this listener',
    ],
    ['an authority that is there', 'insertCACertificate', { ca_cert_pem: CA.leaf }, 'File already exists'],
    ['one that is not there', 'deleteCACertificate', { file_name: 'other.pem' }, 'File not found'],
    ['a server certificate that is not there', 'removeServerCertificate', { listener_id: WSS }, 'File not found'],
    ['a path', 'insertCACertificate', { ca_cert_pem: CA.leaf, file_name: '../ca.pem' }, 'Invalid/missing file_name'],
    ['a long name', 'insertCACertificate', { file_name: 'x'.repeat(256) }, 'Invalid/missing file_name'],
    ['no authority', 'insertCACertificate', { file_name: 'new.pem' }, 'Invalid/missing ca_cert_pem'],
    ['no key', 'setServerCertificate', { cert_pem: SERVER.cert }, 'Invalid/missing key_pem'],
    ['an unknown command', 'renewCertificate', {}, 'Unknown command'],
  ])('a command about %s is refused', async (_name, command, fields, refusal) => {
    const { run } = await commands();
    const before = await run('listCertificates');
    expect(await run(command, { listener_id: MQTTS, file_name: 'ca.pem', ...fields })).toBe(`error: ${refusal}`);
    expect(await run('listCertificates')).toEqual(before);
  });

  test('an authority must be a CA certificate without a key, and refusals do not reveal the key', async () => {
    const { run, insertCa } = await commands();
    expect(await insertCa(MUTUAL, SERVER)).toMatch(/^error: The private key .*the certificate is not an authority/);
    const fields = { listener_id: MUTUAL, file_name: 'ca.pem', ca_cert_pem: CA.leaf + CA.key };
    const refusal = await run('insertCACertificate', fields);
    expect(refusal).toBe('error: Invalid ca_cert_pem: it holds a private key, which must stay secret');
    expect(await insertCa(MUTUAL, CA)).toEqual(SUCCESS);
  });

  test('the certificates of each listener are listed without keys', async () => {
    const { setServer, run, insertCa } = await commands();
    const other = createAuthority();
    await setServer(WSS, other.issue(), 'first.pem');
    const second = CA.issue();
    expect(await setServer(WSS, second, 'second.pem')).toEqual(SUCCESS);
    await insertCa(WSS, other, 'b.pem');
    await insertCa(WSS, CA, 'a.pem');
    const listed = (await run('listCertificates')) as { listeners: { listener_id: number }[] };
    expect(listed.listeners.map(({ listener_id }) => listener_id)).toEqual([MQTTS, WSS, MUTUAL]);
    expect(listed.listeners[1]).toEqual({
      listener_id: WSS,
      server: { file_name: 'second.pem', fingerprint256: second.fingerprint256 },
      cas: [
        { file_name: 'a.pem', fingerprint256: CA.fingerprint256 },
        { file_name: 'b.pem', fingerprint256: other.fingerprint256 },
      ],
    });
  });
});

test('a confirmed certificate survives kill -9; of an unconfirmed one both certificate and key are stored, or neither', async () => {
  const folder = temporaryFolder();
  const renewals = [CA.issue(), CA.issue({ key: 'rsa-2048' }), CA.issue({ key: 'ed25519' })];
  const more = [{ ...TLS_LISTENERS[1], number: MQTTS }] as typeof TLS_LISTENERS;
  let expected: (string | null)[] = [null];
  for (let round = 0; round < 3; round += 1) {
    const { listeners, port, whileAlive, kill } = await startBrokerProcess(folder, 0, more);
    const served = await servedBy(listeners[1]?.port ?? 0);
    expect(expected).toContain(served);
    const { setServer, insertCa } = certificateCommands(await connect(port));
    // The authority of the first round stays.
    expect(await insertCa(MQTTS, CA)).toEqual(round === 0 ? SUCCESS : 'error: File already exists');
    let confirmed = served;
    let sent: string | null = served;
    for (let index = round; ; index += 1) {
      const renewal = renewals[index % renewals.length] ?? SERVER;
      sent = renewal.fingerprint256;
      if ((await whileAlive(setServer(MQTTS, renewal))) === null) break;
      confirmed = renewal.fingerprint256;
      if (index === round + 3) void kill();
    }
    expect(confirmed).not.toBeNull();
    expected = [confirmed, sent];
  }
  for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o077, name).toBe(0);
});
