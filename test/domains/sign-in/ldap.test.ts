import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Attribute, Change } from 'ldapts';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connectedTo } from '../../../src/domains/sign-in/ldap/ldap-connection.ts';
import { startTestService, type TestService } from '../../support/service.ts';
import { hasSlapd, LDAP_PASSWORD, SLAPD_MISSING, startSlapd, type TestDirectory } from '../../support/slapd.ts';
import { subscribe } from '../../support/subscription.ts';
import { addRule, checkNow, keptLog, type LoggedLine, roleOf } from './sign-in-steps.ts';

const LOGIN = 'mutation ($input: LoginInput!) { login(input: $input) { token user { id email name isVerified } } }';
const STATUS = 'subscription ($p: ID!) { brokerStatus(projectId: $p) { kind } }';

interface World {
  readonly service: TestService;
  readonly directory: TestDirectory;
  readonly lines: LoggedLine[];
}

/** A service and its directory, with ada of the group operators and bob of none. */
async function startWorld(env: (directory: TestDirectory) => Record<string, string> = () => ({})): Promise<World> {
  const directory = await startSlapd(
    [
      { uid: 'ada', cn: 'Ada Lovelace' },
      { uid: 'bob', cn: 'Bob (the builder) *', mail: ['bob@example.com', 'builder@example.com'] },
      { uid: 'nomail', cn: 'No Mail', mail: [] },
    ],
    { operators: ['ada'], staff: ['ada', 'bob'] },
  );
  const { log, lines } = keptLog();
  const service = await startTestService({ env: { ...directory.env, ...env(directory) }, log });
  return { service, directory, lines };
}

/** The session and the person; or why not. */
async function login(service: TestService, email: string, password: string = LDAP_PASSWORD) {
  const { data, errors } = await service.graphql(LOGIN, { input: { email, password } }, null);
  return { code: errors?.[0]?.extensions.code ?? null, ...data?.login } as {
    readonly code: string | null;
    readonly token: string;
    readonly user: { readonly id: string; readonly email: string; readonly name: string };
  };
}

const memberOf = ({ dnOf }: TestDirectory, operation: 'add' | 'delete', uid: string): Change =>
  new Change({ operation, modification: new Attribute({ type: 'member', values: [dnOf(uid)] }) });

/** 127.0.0.1 as an address of IPv6. */
const MAPPED = '[::ffff:127.0.0.1]';
const at = (host: string, url: string): string => url.replace('127.0.0.1', host);

describe.skipIf(!hasSlapd)(hasSlapd ? 'people of a directory' : SLAPD_MISSING, () => {
  test('sign in with its password, and have an account that has none here', async () => {
    const { service } = await startWorld();
    const ada = await login(service, ' Ada@example.com ');
    expect(ada.user).toMatchObject({ email: 'ada@example.com', name: 'Ada Lovelace', isVerified: true });
    expect((await login(service, 'ada@example.com')).user.id).toBe(ada.user.id);
    const row = await service.storage.db.user.findUniqueOrThrow({
      where: { id: ada.user.id },
      include: { sessions: true, identities: true },
    });
    expect([row.ssoType, row.passwordHash, row.sessions[0]?.provider]).toEqual(['ldap', null, 'ldap']);
    // entryUUID: it stays when the name in the directory changes.
    expect(row.identities[0]?.subject).toMatch(/^[\da-f-]{36}$/);
    expect(JSON.parse(row.identities[0]?.claims ?? '')).toMatchObject({ mail: 'ada@example.com' });
    // Those who have a password here are not asked for there.
    expect((await login(service, service.config.rootEmail, service.config.rootPassword)).code).toBeNull();
  });

  test('do not get in with a wrong password, none at all, or a name that is part of a filter', async () => {
    const { service, lines } = await startWorld();
    for (const [email, password] of [
      ['ada@example.com', 'wrong'],
      ['ada@example.com', ''],
      ['nobody@example.com', LDAP_PASSWORD],
      ['*)(mail=*', LDAP_PASSWORD],
      ['*', LDAP_PASSWORD],
      ['ada*', LDAP_PASSWORD],
      ['ada@example.com)(uid=ada', LDAP_PASSWORD],
      ['ada@example.com\u0000', LDAP_PASSWORD],
      ['ada\u00ad@example.com', LDAP_PASSWORD],
      ['\uff41da@example.com', LDAP_PASSWORD],
      ['', LDAP_PASSWORD],
    ] as const) {
      expect([email, (await login(service, email, password)).code]).toEqual([email, 'UNAUTHORIZED']);
    }
    expect(await service.storage.db.user.count({ where: { ssoType: 'ldap' } })).toBe(0);
    expect(JSON.stringify(lines)).not.toContain(LDAP_PASSWORD);
    expect((await login(service, 'ada@example.com')).code).toBeNull();
  });

  test('are slowed down like everybody else who guesses', async () => {
    const { service } = await startWorld();
    const codes: (string | null)[] = [];
    for (let n = 0; n < 7; n += 1) codes.push((await login(service, 'ada@example.com', `guess ${n}`)).code);
    expect(codes).toEqual([...Array(5).fill('UNAUTHORIZED'), 'RATE_LIMITED', 'RATE_LIMITED']);
    expect((await login(service, 'bob@example.com')).code).toBeNull();
  });

  test('do not get an account that has a password here, and get the one that was made for them', async () => {
    const { service } = await startWorld(() => ({
      LDAP_USER_FILTER: '(|(mail={login})(uid={login})(sn={login}))',
      SIGN_IN_CREATE_USERS: 'off',
    }));
    expect((await login(service, 'ada')).code).toBe('NOT_ALLOWED');
    await service.services.users.create({ email: 'bob@example.com', password: 'a password of his own' });
    expect((await login(service, 'bob')).code).toBe('NOT_ALLOWED');
    expect((await login(service, 'bob@example.com')).code).toBe('UNAUTHORIZED');
    const { id } = await service.services.users.create({ email: 'ada@example.com', ssoType: 'ldap' });
    expect((await login(service, 'ada')).user.id).toBe(id);
    // No account is created for a user without an address.
    expect((await login(service, 'nomail')).code).toBe('NOT_ALLOWED');
    // Several users have this surname, so the search selects none of them.
    expect((await login(service, 'none')).code).toBe('UNAUTHORIZED');
  });

  test('have roles by their groups, and lose them at the next check', async () => {
    const { service, directory } = await startWorld();
    await addRule(service, { provider: 'LDAP', pattern: 'operators', role: 'EDITOR' });
    await addRule(service, {
      provider: 'LDAP',
      claimPath: 'groupDns',
      pattern: '(?i)cn=Staff,ou=groups,.*',
      role: 'VIEWER',
    });
    const { token } = await login(service, 'ada@example.com');
    const bob = await login(service, 'bob@example.com');
    expect([await roleOf(service, token), await roleOf(service, bob.token)]).toEqual(['EDITOR', 'VIEWER']);
    const stream = subscribe(service, bob.token, STATUS, { p: service.projectId });
    await stream.until(() => true);
    await directory.change(async (client) => {
      await client.modify('cn=operators,ou=groups,dc=example,dc=com', memberOf(directory, 'add', 'bob'));
      await client.modify('cn=operators,ou=groups,dc=example,dc=com', memberOf(directory, 'delete', 'ada'));
    });
    await checkNow(service);
    expect([await roleOf(service, token), await roleOf(service, bob.token)]).toEqual(['VIEWER', 'EDITOR']);
    await directory.change(async (client) => {
      await client.modify('cn=operators,ou=groups,dc=example,dc=com', memberOf(directory, 'add', 'ada'));
      await client.modify('cn=operators,ou=groups,dc=example,dc=com', memberOf(directory, 'delete', 'bob'));
      await client.modify('cn=staff,ou=groups,dc=example,dc=com', memberOf(directory, 'delete', 'bob'));
    });
    await checkNow(service);
    expect(await stream.closed).toBe(4403);
    expect([await roleOf(service, token), await roleOf(service, bob.token)]).toEqual(['EDITOR', null]);
  });

  test('lose their sessions when they are locked, or the filter does not find them any more', async () => {
    const { service, directory } = await startWorld(() => ({
      LDAP_USER_FILTER: '(&(mail={login})(!(employeeType=locked)))',
    }));
    await addRule(service, { provider: 'LDAP', pattern: 'staff', role: 'VIEWER' });
    const [ada, bob] = [await login(service, 'ada@example.com'), await login(service, 'builder@example.com')];
    await checkNow(service);
    expect([await roleOf(service, ada.token), await roleOf(service, bob.token)]).toEqual(['VIEWER', 'VIEWER']);
    await directory.change(async (client) => {
      const employeeType = new Attribute({ type: 'employeeType', values: ['locked'] });
      await client.modify(directory.dnOf('ada'), new Change({ operation: 'add', modification: employeeType }));
      await client.modifyDN(directory.dnOf('bob'), 'uid=robert');
    });
    await checkNow(service);
    expect([await roleOf(service, ada.token), await roleOf(service, bob.token)]).toEqual(['UNAUTHORIZED', null]);
    expect((await login(service, 'ada@example.com')).code).toBe('UNAUTHORIZED');
    // Another name in the directory is still the same person.
    expect((await login(service, 'bob@example.com')).user.id).toBe(bob.user.id);
    const again = await login(service, 'bob@example.com');
    // Of the directory's password policy: too many wrong passwords, or an administrator.
    await directory.change((client) => {
      const pwdAccountLockedTime = new Attribute({ type: 'pwdAccountLockedTime', values: ['000001010000Z'] });
      return client.modify(
        directory.dnOf('robert'),
        new Change({ operation: 'add', modification: pwdAccountLockedTime }),
      );
    });
    await checkNow(service);
    expect(await roleOf(service, again.token)).toBe('UNAUTHORIZED');
    expect((await login(service, 'bob@example.com')).code).toBe('UNAUTHORIZED');
  });

  test('sign in with fewer groups where the directory limits them, and the log says so', async () => {
    const { service, directory, lines } = await startWorld();
    await addRule(service, { provider: 'LDAP', pattern: 'operators', role: 'EDITOR' });
    await directory.change(async (client) => {
      // slapd sends 500 entries to one search.
      for (let n = 0; n < 501; n += 1) {
        const group = { objectClass: 'groupOfNames', cn: `g${n}`, member: directory.dnOf('ada') };
        await client.add(`cn=g${n},ou=groups,dc=example,dc=com`, group);
      }
    });
    expect(await roleOf(service, (await login(service, 'ada@example.com')).token)).toBe('EDITOR');
    expect(lines.filter(({ msg }) => msg.includes('further groups are ignored'))).toHaveLength(1);
    // A check does not count as one, so that the user must sign in again, as with a check that fails.
    const identity = () => service.storage.db.identity.findFirstOrThrow({ where: { provider: 'ldap' } });
    const { checkedAt, claims } = await identity();
    await directory.change((client) =>
      client.modify('cn=staff,ou=groups,dc=example,dc=com', memberOf(directory, 'delete', 'ada')),
    );
    await checkNow(service);
    expect(lines.filter(({ msg }) => msg.includes('further groups are ignored'))).toHaveLength(2);
    expect(await identity()).toMatchObject({ checkedAt, claims });
  });

  test('lose their sessions when they are removed', async () => {
    const { service, directory } = await startWorld();
    const { token } = await login(service, 'ada@example.com');
    await directory.change((client) => client.del(directory.dnOf('ada')));
    await checkNow(service);
    expect(await roleOf(service, token)).toBe('UNAUTHORIZED');
  });

  test('cannot sign in while it is down, and others can; sessions go on', async () => {
    const { service, directory, lines } = await startWorld();
    await addRule(service, { provider: 'LDAP', pattern: 'staff', role: 'VIEWER' });
    const { token } = await login(service, 'ada@example.com');
    await directory.stop();
    expect((await login(service, 'ada@example.com')).code).toBe('SIGN_IN_UNAVAILABLE');
    expect((await login(service, service.config.rootEmail, service.config.rootPassword)).code).toBeNull();
    await checkNow(service);
    expect(await roleOf(service, token)).toBe('VIEWER');
    expect(lines.filter(({ msg }) => msg.includes('cannot be checked'))).toHaveLength(1);
    await directory.startAgain();
    await checkNow(service);
    expect(lines.filter(({ msg }) => msg.includes('are checked again'))).toHaveLength(1);
    expect((await login(service, 'ada@example.com')).code).toBeNull();
  });

  test('sign in over TLS from the start or by StartTLS, at a server with a certificate that is known', async () => {
    const { service: plain, directory } = await startWorld();
    expect((await plain.graphql('{ signInOffers { hasLdap } }', {}, null)).data.signInOffers).toEqual({
      hasLdap: true,
    });
    const { LDAP_START_TLS: _, ...env } = directory.env;
    for (const [settings, code] of [
      [{ LDAP_URL: directory.tlsUrl, LDAP_CA_FILE: directory.caFile }, null],
      [{ LDAP_URL: directory.tlsUrl }, 'SIGN_IN_UNAVAILABLE'],
      [{ LDAP_CA_FILE: directory.caFile }, null],
      // StartTLS is the default, and nothing is said without it.
      [{}, 'SIGN_IN_UNAVAILABLE'],
      // The same server by another address of its certificate, and by one that it is not for.
      [{ LDAP_URL: at(MAPPED, directory.tlsUrl), LDAP_CA_FILE: directory.caFile }, null],
      [{ LDAP_URL: at(MAPPED, directory.url), LDAP_CA_FILE: directory.caFile }, null],
      [{ LDAP_URL: at('localhost', directory.tlsUrl), LDAP_CA_FILE: directory.caFile }, 'SIGN_IN_UNAVAILABLE'],
      [{ LDAP_URL: at('localhost', directory.url), LDAP_CA_FILE: directory.caFile }, 'SIGN_IN_UNAVAILABLE'],
    ] as const) {
      const service = await startTestService({ env: { ...env, ...settings } });
      expect([settings, (await login(service, 'ada@example.com')).code]).toEqual([settings, code]);
    }
  });
});

describe('a server that is no directory', () => {
  /** Starts a server that answers the first request with `answer`. */
  async function serverOf(answer: (socket: Socket) => void): Promise<string> {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => answer(socket));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void server.close());
    return `ldap://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  test('is left when it takes up StartTLS and says nothing more', async () => {
    // RFC 4511 4.14.2: success.
    const url = await serverOf((socket) => socket.write(Buffer.from('300c02010178070a010004000400', 'hex')));
    const asked = connectedTo({ url, startTls: true, ca: null }, async () => 'bound', { longestMs: 200 });
    await expect(asked).rejects.toThrow('the operations take longer than 0.2 s');
  });

  // A search entry and a bind response, both without content.
  test.each(['30050201026400', '30050201016100'])('is left when it sends %s very often', async (message) => {
    const url = await serverOf((socket) => socket.write(Buffer.alloc(700_000, message, 'hex')));
    const asked = connectedTo({ url, startTls: false, ca: null }, (client) => client.bind('cn=reader', 'secret'));
    await expect(asked).rejects.toThrow('the responses of the directory cannot be read');
  });

  test('is left when its answer does not end', async () => {
    const url = await serverOf((socket) => {
      // A message of 2 GB.
      socket.write(Buffer.from('30847fffffff', 'hex'));
      const more = () => {
        while (!socket.destroyed && socket.write(Buffer.alloc(65_536)));
      };
      socket.on('drain', more);
      more();
    });
    // A loaded machine reads 4 MB in more than the usual 5 s.
    const asked = connectedTo({ url, startTls: false, ca: null }, (client) => client.bind('cn=reader', 'secret'), {
      longestMs: 120_000,
      operationMs: 120_000,
    });
    await expect(asked).rejects.toThrow('the responses have more than 4000000 bytes');
  });
});
