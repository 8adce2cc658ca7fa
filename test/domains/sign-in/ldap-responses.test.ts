import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { LdapDirectory } from '../../../src/domains/sign-in/ldap/ldap-directory.ts';
import { silentLog } from '../../support/database.ts';

/** BER with lengths below 128 (X.690 8.1). */
const ber = (tag: number, ...parts: readonly (Buffer | string)[]): Buffer => {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part as Buffer)));
  return Buffer.concat([Buffer.from([tag, content.length]), content]);
};
const result = (tag: number, code: number) => ber(tag, ber(0x0a, Buffer.from([code])), ber(4, ''), ber(4, ''));

interface Responses {
  readonly attributes?: Readonly<Record<string, string>>;
  /** Result code of the bind of the user. Default: 0, success. */
  readonly code?: number;
}

/** A server with one user, who has any password. */
async function directoryOf({ attributes = {}, code = 0 }: Responses): Promise<LdapDirectory> {
  const entry = ber(
    0x64,
    ber(4, 'uid=ada'),
    ber(0x30, ...Object.entries({ entryUUID: 'u1', ...attributes }).map(([name, value]) => attribute(name, value))),
  );
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (request: Buffer) => {
      const start = (request[1] ?? 0) < 0x80 ? 2 : 2 + ((request[1] ?? 0) & 0x7f);
      const [id, tag] = [request.subarray(start, start + 3), request[start + 3]];
      const respond = (response: Buffer) => socket.write(ber(0x30, id, response));
      if (tag === 0x60) respond(result(0x61, request.includes('uid=ada') ? code : 0));
      if (tag !== 0x63) return;
      respond(entry);
      respond(result(0x65, 0));
    });
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return new LdapDirectory({
    url: `ldap://127.0.0.1:${(server.address() as AddressInfo).port}`,
    startTls: false,
    ca: null,
    bind: { dn: 'cn=reader', password: 'secret' },
    userBase: 'o=x',
    userFilter: '(uid={login})',
    groupBase: null,
    groupFilter: '(member={dn})',
    accounts: { admit: async ({ subject }: { subject: string }) => ({ userId: subject }) } as never,
    log: silentLog,
  });
}

const attribute = (name: string, value: string) => ber(0x30, ber(4, name), ber(0x31, ber(4, value)));
const outcomes = async (responses: Responses) => {
  const directory = await directoryOf(responses);
  const check = await directory.check({ subject: 'u1', claims: {}, handle: '{"login":"ada"}' });
  return [await directory.signIn('ada', 'any'), check.outcome];
};
const SIGNED_IN = { userId: 'u1' };

/** 100 ns since 1601. */
const fileTime = (time: number) => String(BigInt(time) * 10_000n + 116_444_736_000_000_000n);

test.each<[string, Readonly<Record<string, string>>, unknown]>([
  ['no lock', {}, [SIGNED_IN, 'ACTIVE']],
  ['a lock by an administrator', { pwdAccountLockedTime: '000001010000Z' }, ['WRONG', 'GONE']],
  ['a lock whose time is over', { pwdAccountLockedTime: '20200101000000Z' }, [SIGNED_IN, 'GONE']],
  ['names in lower case', { nsaccountlock: 'TRUE' }, ['WRONG', 'GONE']],
  ['a disabled login of eDirectory', { loginDisabled: 'TRUE' }, ['WRONG', 'GONE']],
  ['an account that has expired', { accountExpires: fileTime(Date.now() - 1) }, ['WRONG', 'GONE']],
  ['an account that expires later', { accountExpires: fileTime(Date.now() + 60_000) }, [SIGNED_IN, 'ACTIVE']],
  ['an account that never expires', { accountExpires: '9223372036854775807' }, [SIGNED_IN, 'ACTIVE']],
  ['an account without a time', { accountExpires: '0' }, [SIGNED_IN, 'ACTIVE']],
])('the state of the account is read: %s', async (_name, attributes, expected) => {
  expect(await outcomes({ attributes })).toEqual(expected);
});

// ConstraintViolation, InappropriateAuthentication, InvalidCredentials, UnwillingToPerform
test.each([19, 48, 49, 53])('an account that the directory refuses with code %i has a wrong password', async (code) => {
  expect(await outcomes({ code })).toEqual(['WRONG', 'ACTIVE']);
});

test('a directory that is busy is unavailable', async () => {
  await expect(outcomes({ code: 51 })).rejects.toMatchObject({ code: 'SIGN_IN_UNAVAILABLE' });
});
