import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../../src/platform/config/config.ts';
import { SETTINGS } from '../../../src/platform/config/settings.ts';
import { temporaryFolder } from '../../support/database.ts';
import { runs } from '../../support/suite.ts';

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

describe('misspelled settings', () => {
  const names = Object.values(SETTINGS).map(({ env }) => env as string);
  const long = names.filter((name) => name.length >= 10);
  const letter = fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZ_');

  test('are refused with the setting that was meant: letters are missing, added, wrong or exchanged', () => {
    const edit = fc.tuple(fc.constantFrom('delete', 'insert', 'replace', 'exchange'), fc.nat(), letter);
    fc.assert(
      fc.property(fc.constantFrom(...long), fc.array(edit, { minLength: 1, maxLength: 2 }), (name, changes) => {
        const wrong = changes.reduce((text, [kind, at, other]) => {
          const i = at % (text.length - 1);
          if (kind === 'exchange') return text.slice(0, i) + text[i + 1] + text[i] + text.slice(i + 2);
          return text.slice(0, i) + (kind === 'delete' ? '' : other) + text.slice(kind === 'insert' ? i : i + 1);
        }, name);
        // An exchange inside of which a letter is added has three edits.
        fc.pre(changes.length === 1 || changes.every(([kind]) => kind !== 'exchange'));
        fc.pre(!names.includes(wrong) && wrong.length >= 9);
        expect(() => readConfig({ [wrong]: '1' })).toThrow(`${wrong} is not a setting`);
      }),
      { numRuns: runs(500) },
    );
    const meant = { MAX_CONECTIONS: 'MAX_CONNECTIONS', ldap_uri: 'LDAP_URL', BROKER_TIMEOUT: 'BROKER_TIMEOUT_MS' };
    for (const [wrong, right] of Object.entries(meant))
      expect(() => readConfig({ [wrong]: '1' })).toThrow(`${wrong} is not a setting. Did you mean ${right}?`);
    expect(() => readConfig({ LDAP_URL_FILE: '/x' })).toThrow('LDAP_URL_FILE is not a setting: only secrets');
  });

  test('variables of other programs are no settings, and an empty one is unset', () => {
    // Of shells, Node, npm, systemd, Docker, Kubernetes, CI, PostgreSQL, CGI and the files of deploy.
    const others = `PATH HOME HOSTNAME USER SHELL LANG TERM PWD OLDPWD SHLVL TZ TMPDIR LOGNAME MAIL EDITOR PAGER LS_COLORS
      NODE_ENV NODE_OPTIONS NODE_EXTRA_CA_CERTS NODE_VERSION YARN_VERSION npm_config_cache INIT_CWD XDG_DATA_DIRS
      XDG_DATA_HOME XDG_RUNTIME_DIR INVOCATION_ID JOURNAL_STREAM MAINPID MEMORY_LIMIT MQTT_PUBLISH HTTP_PUBLISH
      POSTGRES_PASSWORD POSTGRES_USER POSTGRES_DB DATABASE DB_URL KUBERNETES_PORT KUBERNETES_SERVICE_HOST POD_NAME
      POD_IP BROKERGRAPH_PORT BROKERGRAPH_SERVICE_HOST MQTT_USER MQTT_PASSWORD HTTP_HOST HTTP_PORT HTTP_PROXY
      https_proxy NO_PROXY PGHOST PGPORT PGDATA PGUSER PGPASSWORD PGSSLROOTCERT SSL_CERT_FILE JAVA_HOME JAVA_DIR GOPATH
      CI GITHUB_TOKEN GITLAB_CI SSH_AUTH_SOCK DBUS_SESSION_BUS_ADDRESS MALLOC_MMAP_THRESHOLD_ TEST_SUITE SKIP_BUILD
      BUILD_COMMIT SOURCE_DATE_EPOCH RESTART_COUNT SECRET TOKEN LOG_FILE PORTS ROLES HOSTS MAX_MEMORY RATE_LIMIT`;
    expect(() => readConfig(Object.fromEntries(others.split(/\s+/).map((name) => [name, '1'])))).not.toThrow();
    expect(() => readConfig({ MAX_CONECTIONS: '' })).not.toThrow();
  });
});

describe.each(Object.values(SETTINGS).flatMap((row) => ('secret' in row ? [row.env as string] : [])))('%s', (name) => {
  const urls: Readonly<Record<string, string>> = {
    DATABASE_URL: 'postgresql://user:secret@host/name',
    SMTP_URL: 'smtp://user:secret@host:587',
  };
  const value = urls[name] ?? 's3cret of more than 32 characters, ok';
  const key = Object.entries(SETTINGS).find(([, { env }]) => env === name)?.[0] as keyof typeof SETTINGS;
  const place = () => join(temporaryFolder(), 'secret');

  test('may be in a file, with or without a newline at its end', () => {
    for (const end of ['', '\n', '\r\n']) {
      const file = place();
      writeFileSync(file, `${value}${end}`);
      expect(readConfig({ [`${name}_FILE`]: file, LDAP_BIND_DN: '' })[key]).toBe(value);
    }
    expect(readConfig({ [name]: value, [`${name}_FILE`]: '' })[key]).toBe(value);
  });

  test('is refused in a file that is missing, empty, too large, invalid or not the only place', () => {
    const file = place();
    const refused = (env: Record<string, string>) => {
      const { problems } = thrownBy(() => readConfig(env));
      expect(problems.join('\n')).not.toMatch(/s3cret/);
      return problems;
    };
    expect(refused({ [`${name}_FILE`]: file })).toEqual([`${name}_FILE: the file ${file} cannot be read: ENOENT`]);
    const folder = temporaryFolder();
    expect(refused({ [`${name}_FILE`]: folder })).toEqual([`${name}_FILE: the file ${folder} cannot be read: EISDIR`]);
    expect(refused({ [`${name}_FILE`]: '/dev/zero' })).toEqual([
      `${name}_FILE: the file /dev/zero is larger than 65536 bytes`,
    ]);
    for (const empty of ['', '\n']) {
      writeFileSync(file, empty);
      expect(refused({ [`${name}_FILE`]: file })).toEqual([`${name}_FILE: the file ${file} is empty`]);
    }
    writeFileSync(file, value);
    const both = `${name} and ${name}_FILE are both set: unset one of them`;
    expect(refused({ [name]: value, [`${name}_FILE`]: file })).toEqual([both]);
  });
});

function thrownBy(read: () => unknown): ConfigError {
  try {
    read();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('Nothing was refused');
}
