import { expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../../src/platform/config/config.ts';
import { SETTINGS } from '../../../src/platform/config/settings.ts';

test('settings have their documented defaults', () => {
  const config = readConfig({});
  expect(config).toMatchObject({ host: '127.0.0.1', port: 4000, dataDir: './data', mqttPort: 1883, mqttWsPort: 9001 });
  expect(config).toMatchObject({
    embeddedBroker: true,
    rootEmail: 'admin@localhost',
    brokerTimeoutMs: 5000,
    tokenInQuery: false,
  });
  expect(config.databaseUrl).toBeUndefined();
});

test('all invalid values are reported together, each with its variable and what it must be', () => {
  const read = () =>
    readConfig({ PORT: '70000', LOG_LEVEL: 'loud', DATABASE_URL: 'mysql://x', EMBEDDED_BROKER: 'maybe' });
  expect(read).toThrow(ConfigError);
  try {
    read();
  } catch (error) {
    const { problems } = error as ConfigError;
    expect(problems).toHaveLength(4);
    expect(problems.join('\n')).toMatch(/PORT must be .*"70000"/);
    expect(problems.join('\n')).toMatch(/EMBEDDED_BROKER must be on or off/);
  }
});

test('an invalid secret is reported without its value', () => {
  expect(() => readConfig({ SECRET_KEY: 'too-short-to-use' })).toThrow(/SECRET_KEY must be at least 32/);
  expect(() => readConfig({ SECRET_KEY: 'too-short-to-use' })).not.toThrow(/too-short-to-use/);
});

test('the port of a listener is a number or off', () => {
  expect(readConfig({})).toMatchObject({ mqttTlsPort: 8883, mqttWssPort: null });
  expect(readConfig({ MQTT_TLS_PORT: 'off', MQTT_WSS_PORT: '0' })).toMatchObject({ mqttTlsPort: null, mqttWssPort: 0 });
  expect(() => readConfig({ MQTT_TLS_PORT: 'on' })).toThrow(
    'MQTT_TLS_PORT must be off or a whole number from 0 to 65535',
  );
});

test('the advertised host of brokers is a name or an address, without a port', () => {
  expect(readConfig({}).mqttAdvertisedHost).toBeUndefined();
  const texts = ['mqtt.example.com', '10.0.0.5', 'fd00::1', '[FD00::1]'];
  const parsed = texts.map((text) => readConfig({ MQTT_ADVERTISED_HOST: text }).mqttAdvertisedHost);
  expect(parsed).toEqual(['mqtt.example.com', '10.0.0.5', 'fd00::1', 'fd00::1']);
  for (const MQTT_ADVERTISED_HOST of [
    'mqtt.example.com:1883',
    'mqtt://10.0.0.5',
    'a b',
    'a/b',
    'u@h',
    '10.0.0.0/8',
    '.',
  ]) {
    expect(() => readConfig({ MQTT_ADVERTISED_HOST })).toThrow('MQTT_ADVERTISED_HOST must be a name or an address');
  }
});

test('an empty variable counts as unset', () => {
  expect(readConfig({ PORT: '', DATABASE_URL: '' })).toMatchObject({ port: 4000, databaseUrl: undefined });
});

test('every setting has its own variable and a help text', () => {
  const rows = Object.values(SETTINGS);
  expect(new Set(rows.map(({ env }) => env)).size).toBe(rows.length);
  for (const { help } of rows) expect(help.length).toBeGreaterThan(5);
});

test('an origin that no browser sends is refused as an invalid value', () => {
  for (const CORS_ORIGINS of ['https://a.example/', 'a.example', '*', 'https://a.example,https://b.example/app']) {
    expect(() => readConfig({ CORS_ORIGINS })).toThrow('CORS_ORIGINS must be origins such as');
  }
  expect(readConfig({ CORS_ORIGINS: 'https://a.example, http://localhost:3000' }).corsOrigins).toEqual([
    'https://a.example',
    'http://localhost:3000',
  ]);
});

test('single sign-on settings that are missing or unencrypted are reported', () => {
  expect(readConfig({})).toMatchObject({ oidcGroupsClaim: 'groups', signInCheckMinutes: 5, ldapStartTls: true });
  const problemsOf = (env: Record<string, string>) => {
    try {
      readConfig(env);
      return [];
    } catch (error) {
      return (error as ConfigError).problems.map((problem) => problem.split(' ')[0]);
    }
  };
  const oidc = { OIDC_ISSUER: 'https://login.example.com/realms/plant', OIDC_CLIENT_ID: 'brokergraph' };
  expect(problemsOf(oidc)).toEqual([]);
  expect(problemsOf({ ...oidc, OIDC_ISSUER: 'http://127.0.0.1:8080' })).toEqual([]);
  expect(problemsOf({ ...oidc, OIDC_ISSUER: 'http://login.example.com' })).toEqual(['OIDC_ISSUER']);
  expect(problemsOf({ ...oidc, OIDC_SCOPES: 'profile' })).toEqual(['OIDC_SCOPES']);
  expect(problemsOf({ OIDC_ISSUER: oidc.OIDC_ISSUER })).toEqual(['OIDC_CLIENT_ID']);
  expect(problemsOf({ SIGN_IN_RETURN_TO: 'https://a.example.com, javascript:alert(1)' })).toEqual([
    'SIGN_IN_RETURN_TO',
  ]);
  expect(problemsOf({ PUBLIC_URL: 'https://me:secret@example.com' })).toEqual(['PUBLIC_URL']);
  expect(problemsOf({ LDAP_URL: 'ldaps://directory.example.com' })).toEqual(['LDAP_USER_BASE']);
  expect(problemsOf({ LDAP_URL: 'https://x', LDAP_USER_FILTER: 'mail={login}', LDAP_BIND_DN: 'cn=a' })).toEqual([
    'LDAP_URL',
    'LDAP_USER_FILTER',
    'LDAP_BIND_PASSWORD',
  ]);
});
