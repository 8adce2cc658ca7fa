import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { runCommand } from '../../../src/app/cli/program.ts';
import { startScriptedBroker } from '../../support/aedes-broker.ts';
import { temporaryFolder } from '../../support/database.ts';
import { ADMIN, FOLLOWED_LOG, mosquittoVersion, sinceVersion, startMosquitto } from '../../support/mosquitto.ts';
import { startOidc } from '../../support/oidc.ts';
import { hasSlapd, LDAP_PASSWORD, startSlapd } from '../../support/slapd.ts';

const MAIN = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
const run = promisify(execFile);

function passwordFile(): string {
  const file = `${temporaryFolder()}/password`;
  writeFileSync(file, `${ADMIN.password}\n`);
  return file;
}

const providers = (stdout: string) =>
  Object.fromEntries(
    JSON.parse(stdout).capabilities.map(({ api, provider }: { api: string; provider: string }) => [api, provider]),
  );

test('a Mosquitto without the log feed gets a recommendation', async () => {
  const { url } = await startMosquitto({ access: 'dynsec' });
  const args = ['doctor', url, '--username', ADMIN.username, '--password-file', passwordFile()];
  const { stdout } = await run(process.execPath, [MAIN, ...args, '--json']);
  expect(providers(stdout)).toMatchObject({
    'dynamic-security': 'BROKER',
    'cedalo/inspect': 'NONE',
    'stream-processing': 'GATEWAY',
    'cedalo/topictree': 'GATEWAY',
    'cedalo/license': 'GATEWAY',
  });
  const text = await run(process.execPath, [MAIN, ...args]);
  expect(text.stdout).toContain(`Connected with MQTT 5 to mosquitto version ${mosquittoVersion()}`);
  expect(text.stdout).toContain('log_dest topic');
  // Mosquitto 2.0 does not have this setting. This 2.1 has it, but its administrator may not use the API.
  expect(text.stdout).not.toContain('enable_control_api');
  expect(text.stdout).toContain('Plugins: unknown');
  expect(text.stdout).toContain(
    sinceVersion({
      '2.0.0': 'the client ids and user names of refused connections',
      '2.0.13': 'the user names of refused connections, and their addresses while several connections are being opened',
      '2.1.0': 'the user names of refused connections',
    }),
  );
});

/** The report on a broker that publishes this version, and serves the API `broker` if it has plugins. */
async function examined(version: string, plugins: readonly object[] | null) {
  const broker = await startScriptedBroker((topic, payload) => {
    if (topic !== '$CONTROL/broker/v1' || plugins === null) return [];
    const { commands } = JSON.parse(payload) as { commands: { command: string; correlationData: string }[] };
    return [JSON.stringify({ responses: commands.map((command) => ({ ...command, data: { plugins } })) })];
  });
  await broker.publish('$SYS/broker/version', version, true);
  const output: string[] = [];
  const done = await runCommand(['doctor', broker.url, '--json'], {
    env: { DATA_DIR: temporaryFolder() },
    out: (text) => output.push(text),
    err: (text) => output.push(text),
    readInput: async () => '',
    isTerminal: false,
    stop: new AbortController().signal,
    onBug: () => undefined,
  });
  expect(done).toBe(0);
  const { brokerVersion, plugins: listed, advice, logGaps } = JSON.parse(output.join(''));
  expect(brokerVersion).toBe(version);
  return { listed, advice: advice.join('\n'), logGaps };
}

test('the version decides what is recommended and what the log lacks, and other plugins are named', async () => {
  const older = await examined('mosquitto version 2.0.22', null);
  expect(older.listed).toBeNull();
  expect(older.advice).not.toContain('enable_control_api');
  expect(older.logGaps).toContain(
    'the user names of refused connections, and their addresses while several connections are being opened',
  );
  const newer = await examined('mosquitto version 2.1.2', null);
  expect(newer.advice).toContain('enable_control_api true');
  expect(newer.logGaps).toEqual(['the user names of refused connections', 'denied messages and subscriptions']);
  const plugins = [
    { name: 'dynamic-security', 'control-endpoints': [] },
    { name: 'acl-file', version: '1' },
  ];
  const served = await examined('mosquitto version 2.1.2', plugins);
  expect(served.listed).toMatchObject([{ name: 'dynamic-security' }, { name: 'acl-file', version: '1' }]);
  expect(served.advice).toContain('acl-file');
  expect(served.advice).not.toContain('enable_control_api');
});

test('a Mosquitto with the log feed can be inspected', async () => {
  const { url } = await startMosquitto({ access: 'passwords', logTypes: FOLLOWED_LOG });
  const { stdout } = await run(process.execPath, [
    MAIN,
    'doctor',
    url,
    '--username',
    ADMIN.username,
    '--password-file',
    passwordFile(),
    '--json',
  ]);
  expect(providers(stdout)).toMatchObject({ 'cedalo/inspect': 'GATEWAY' });
});

test('an unreachable broker is reported with the reason and exit code 1', () => {
  const { status, stderr } = spawnSync(process.execPath, [MAIN, 'doctor', 'mqtt://127.0.0.1:1'], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([1, expect.stringMatching(/^error: Connection refused/)]);
});

describe('the sign-in providers of the settings', () => {
  const NOTHING_SECRET = [ADMIN.password, LDAP_PASSWORD];

  /** Runs in this process with real providers. */
  async function examine(env: Record<string, string>, ...args: string[]) {
    const output = { out: '', err: '' };
    const code = await runCommand(['doctor', ...args], {
      env: { DATA_DIR: temporaryFolder(), ...env },
      out: (text) => (output.out += text),
      err: (text) => (output.err += text),
      readInput: async () => '',
      isTerminal: false,
      stop: new AbortController().signal,
      onBug: () => undefined,
    });
    for (const [name, value] of Object.entries(env)) {
      if (/SECRET|PASSWORD/.test(name)) expect(output.out + output.err).not.toContain(value);
    }
    for (const secret of NOTHING_SECRET) expect(output.out + output.err).not.toContain(secret);
    return { code, ...output };
  }

  test('are not tested if none is set', async () => {
    expect(await examine({})).toMatchObject({ code: 0, out: expect.stringContaining('Nothing to test') });
  });

  test('the OpenID provider, the client and the redirect address are tested', async () => {
    const oidc = await startOidc();
    const PUBLIC_URL = 'https://brokers.example.com';
    oidc.serve(PUBLIC_URL);
    const env = { ...oidc.env, PUBLIC_URL };
    const fine = await examine(env, '--json');
    expect(fine).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(fine.out).findings).toMatchObject([
      { setting: 'OIDC_ISSUER', works: true },
      {
        setting: 'OIDC_CLIENT_ID',
        works: true,
        told: [`the provider accepts the client with ${PUBLIC_URL}/auth/oidc/callback`],
      },
    ]);
    const elsewhere = await examine({ ...env, PUBLIC_URL: 'https://other.example.com' });
    expect(elsewhere).toMatchObject({
      code: 1,
      out: expect.stringContaining('https://other.example.com/auth/oidc/callback'),
    });
    const stranger = await examine({ ...env, OIDC_CLIENT_SECRET: 'a secret of another client' });
    expect(stranger).toMatchObject({
      code: 1,
      out: expect.stringContaining('does not accept OIDC_CLIENT_ID with OIDC_CLIENT_SECRET'),
    });
    await oidc.stop();
    expect(await examine(env)).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^OIDC_ISSUER +FAILS .*fetch failed/),
    });
  });

  test.skipIf(!hasSlapd)('the directory is bound to and searched', async () => {
    const ada = { uid: 'ada', cn: 'Ada Lovelace', mail: ['ada@example.com'] };
    const slapd = await startSlapd([ada], { operators: ['ada'] });
    const fine = await examine(slapd.env, '--login', 'ada@example.com');
    expect(fine).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/^LDAP_USER_FILTER +works +ada@/m) });
    expect(fine.out).toMatch(/groups: .*cn=operators/);
    expect((await examine(slapd.env)).out).toContain('can be searched');
    expect(await examine(slapd.env, '--login', 'eve@example.com')).toMatchObject({
      code: 1,
      out: expect.stringContaining('no user matches (mail=eve@example.com)'),
    });
    const nowhere = await examine({ ...slapd.env, LDAP_GROUP_BASE: 'ou=nowhere,dc=example,dc=com' });
    expect(nowhere).toMatchObject({ code: 1, out: expect.stringMatching(/^LDAP_GROUP_BASE +FAILS .*does not exist/m) });
    const stranger = await examine({ ...slapd.env, LDAP_BIND_PASSWORD: 'the password of somebody else' });
    expect(stranger).toMatchObject({ code: 1, out: expect.stringMatching(/^LDAP_URL +FAILS .*InvalidCredentials/) });
    const tls = { ...slapd.env, LDAP_START_TLS: 'on' };
    expect((await examine(tls)).out).toMatch(/^LDAP_URL +FAILS .*StartTLS: .*certificate/);
    expect((await examine({ ...tls, LDAP_CA_FILE: slapd.caFile })).code).toBe(0);
  });
});
