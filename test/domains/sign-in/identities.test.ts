import { expect, test } from 'vitest';
import { startTestService } from '../../support/service.ts';

const READ = `query ($projectId: ID!) { project(id: $projectId) { members { nodes {
  user { id identities { provider subject checkedAt } }
} } } }`;

test('the user and root administrators see the accounts at providers, other members do not', async () => {
  const service = await startTestService();
  const { db } = service.storage;
  const [ada, bob] = [await service.person('ADMIN'), await service.person('VIEWER')];
  const checkedAt = new Date('2026-05-04T03:02:01Z');
  const secrets = { claims: '{"groups":["plant"]}', sealedRefresh: 'sealed' };
  const rows = [
    { provider: 'sso', subject: 'https://idp.example 7' },
    { provider: 'ldap', subject: 'uid=ada' },
  ];
  await db.identity.createMany({ data: rows.map((row) => ({ ...row, ...secrets, userId: ada.id, checkedAt })) });
  const shown = rows.toReversed().map(({ provider, subject }) => ({
    provider: provider.toUpperCase(),
    subject,
    checkedAt: checkedAt.toISOString(),
  }));
  const read = (token?: string) => service.graphql(READ, { projectId: service.projectId }, token);

  const { data } = await read();
  const users = data.project.members.nodes.map(({ user }: { user: object }) => user);
  expect(users).toContainEqual({ id: ada.id, identities: shown });
  expect(users).toContainEqual({ id: bob.id, identities: [] });

  for (const { token } of [ada, bob]) {
    const { errors } = await read(token);
    expect(errors?.map(({ extensions }) => extensions.code)).toContain('NOT_ALLOWED');
    expect(JSON.stringify(errors)).not.toContain('uid=ada');
  }
  const OWN = '{ viewer { user { identities { provider subject checkedAt } } } }';
  expect((await service.graphql(OWN, {}, ada.token)).data.viewer.user.identities).toEqual(shown);
});
