import { expect, test } from 'vitest';
import { kindOfSecret, newSecret } from '../../../src/platform/auth/secrets.ts';
import { openedStream } from '../../support/event-stream.ts';
import { bearer, startTestService, type TestService } from '../../support/service.ts';

const ROTATE =
  'mutation ($input: RotateTokenInput!) { rotateToken(input: $input) { secret token { id hash secret previousValidUntil validUntil } } }';
const STATUS = 'subscription ($p: ID!) { brokerStatus(projectId: $p) { kind } }';

async function withToken(service: TestService, more: object = {}) {
  const input = { projectId: service.projectId, name: 'device', role: 'ADMIN', ...more } as const;
  const { token, secret } = await service.services.tokens.issue(input, 'a test');
  return { id: token.id, secret };
}

const statusOf = async ({ url }: TestService, secret: string) =>
  (await fetch(`${url}/api/projects`, { headers: bearer(secret) })).status;

const rotate = async ({ graphql }: TestService, input: object, token?: string) => {
  const { data, errors } = await graphql(ROTATE, { input }, token);
  return errors ? errors[0]?.extensions : data.rotateToken;
};

test('after a rotation both secrets are good for the overlap; then the one before ends with what is open over it, and nothing else', async () => {
  const service = await startTestService();
  const { id, secret } = await withToken(service);
  const subscription = { query: STATUS, variables: { p: service.projectId } };
  const before = await openedStream('WebSocket', service, secret, subscription);
  const rotated = await rotate(service, { tokenId: id });
  expect(rotated.token).toMatchObject({ id, secret: rotated.secret, previousValidUntil: expect.any(String) });
  const after = await openedStream('WebSocket', service, rotated.secret, subscription);
  expect([await statusOf(service, secret), await statusOf(service, rotated.secret)]).toEqual([200, 200]);

  const { db } = service.storage;
  await db.projectToken.update({ where: { id }, data: { previousValidUntil: new Date(Date.now() + 100) } });
  await service.storage.changes.announce('token', id);
  expect(await before.ended).toMatchObject({ errors: ['UNAUTHORIZED'], close: 4403 });
  expect([await statusOf(service, secret), await statusOf(service, rotated.secret)]).toEqual([401, 200]);
  await service.services.tokens.revoke(id);
  expect(await after.ended).toMatchObject({ errors: ['UNAUTHORIZED'], close: 4403 });
  expect(await statusOf(service, rotated.secret)).toBe(401);
});

test('a token has two secrets at most: without overlap, or by another rotation, the one before ends at once', async () => {
  const service = await startTestService();
  const { id, secret: first } = await withToken(service);
  const { secret: second } = await rotate(service, { tokenId: id });
  const { secret: third } = await rotate(service, { tokenId: id });
  const known = () => Promise.all([first, second, third].map((secret) => statusOf(service, secret)));
  expect(await known()).toEqual([401, 200, 200]);
  const { secret: fourth } = await rotate(service, { tokenId: id, overlapSeconds: 0 });
  expect([...(await known()), await statusOf(service, fourth)]).toEqual([401, 401, 401, 200]);
  const secrets = [first, second, third, fourth];
  const stored = JSON.stringify(await service.storage.db.projectToken.findMany());
  for (const secret of secrets) expect(stored).not.toContain(secret);
});

test('neither outlives the token; an expired one needs a new end, and a token rotates none', async () => {
  const service = await startTestService();
  const { id, secret } = await withToken(service);
  expect(await rotate(service, { tokenId: id }, secret)).toMatchObject({ code: 'NOT_ALLOWED' });
  expect(await rotate(service, { tokenId: id }, (await service.person('EDITOR')).token)).toMatchObject({
    code: 'NOT_ALLOWED',
  });
  expect(await rotate(service, { tokenId: id, overlapSeconds: 2_592_001 })).toMatchObject({ code: 'INVALID' });
  expect(await rotate(service, { tokenId: id, overlapSeconds: -1 })).toMatchObject({ code: 'INVALID' });
  expect(await rotate(service, { tokenId: 'tok_none' })).toMatchObject({ code: 'NOT_FOUND' });
  const elsewhere = { tokenId: id, projectId: 'prj_other' };
  expect(await rotate(service, elsewhere)).toMatchObject({ code: 'NOT_FOUND' });

  await service.storage.db.projectToken.update({ where: { id }, data: { validUntil: new Date(0) } });
  await service.storage.changes.announce('token', id);
  expect(await rotate(service, { tokenId: id })).toMatchObject({
    code: 'INVALID',
    info: { issues: [{ path: 'input.validUntil' }] },
  });
  const end = new Date(Date.now() + 3_600_000).toISOString();
  const { secret: next, token } = await rotate(service, { tokenId: id, validUntil: end });
  expect(token.validUntil).toBe(end);
  expect([await statusOf(service, secret), await statusOf(service, next)]).toEqual([200, 200]);
  await service.storage.db.projectToken.update({ where: { id }, data: { validUntil: new Date(0) } });
  await service.storage.changes.announce('token', id);
  expect([await statusOf(service, secret), await statusOf(service, next)]).toEqual([401, 401]);

  // By REST, where no body is needed.
  const path = `/api/projects/${service.projectId}/tokens/${id}/rotate`;
  const refused = [
    ['tomorrow', /^must be a time \(ISO 8601/],
    ['9'.repeat(17), /./],
  ] as const;
  for (const [date, reason] of refused) {
    const issues = [{ path: '/valid_date', reason: expect.stringMatching(reason) }];
    const answer = { status: 400, body: { info: { issues } } };
    expect(await service.rest('POST', path, service.root, { valid_date: date })).toMatchObject(answer);
  }
  await service.storage.db.projectToken.update({ where: { id }, data: { validUntil: null } });
  expect(await service.rest('POST', path, service.root)).toMatchObject({ status: 200, body: { id } });
});

test('what a token may be restricted to has to be said without contradiction', async () => {
  const service = await startTestService();
  const issue = async (more: object) =>
    withToken(service, more).then(
      () => 'ISSUED',
      (error) => error.info?.issues?.[0]?.path ?? error.code,
    );
  expect(await issue({ type: 'RESTRICTED' })).toBe('input.brokerIds');
  expect(await issue({ brokerIds: [] })).toBe('input.brokerIds');
  expect(await issue({ type: 'UNRESTRICTED', brokerIds: ['brk_1'] })).toBe('input.brokerIds');
  expect(await issue({ type: 'UNRESTRICTED', brokerIds: [] })).toBe('ISSUED');
});

test('the documented expression finds secrets, and their checksum distinguishes them from other texts', async () => {
  const documented = /\bbgp_[0-9A-Za-z]{49}\b/;
  for (let i = 0; i < 200; i++) {
    const secret = newSecret('projectToken');
    expect(`token=${secret}, and more`).toMatch(documented);
    expect(kindOfSecret(secret)).toBe('projectToken');
    const at = 4 + (i % 49);
    const other = secret.slice(0, at) + (secret[at] === 'x' ? 'y' : 'x') + secret.slice(at + 1);
    expect(kindOfSecret(other)).toBeNull();
  }
  expect(kindOfSecret(newSecret('session'))).toBe('session');
  // As they were before there were sums.
  expect(kindOfSecret(`bgp_${'aB-_'.repeat(11).slice(0, 43)}`)).toBe('projectToken');
  expect(kindOfSecret('bgp_unknown')).toBeNull();
});
